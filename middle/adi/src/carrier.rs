//! What carries messages for an endpoint's books: a port, or a model of one in tests.

use bcl_raw::Error;
use bcl_raw::slab::Id;
use bcl_types::Address;

use crate::memory::Memory;

/// The calls on a port that the middle layer makes. None of them blocks. What a port has to tell, it tells by the calls of an
/// [`Engine`](crate::Engine).
///
/// [`Error::QueueFull`] of any of them means that nothing has happened, and that it is to be tried again later. Sending says so
/// as long as the end of a peer is to be told: what would be sent belongs to the old connection, and would go by a new one.
pub trait Carrier {
    /// Longest message that the system channel takes to this peer now, at least [`SYSTEM_MAX`](bcl_types::SYSTEM_MAX) bytes.
    fn system_max(&mut self, to: Address) -> usize;

    /// Sends a message to the system channel, which is copied. True: it has left, and is not spoken of again. False: its end
    /// will be told, with this `life`.
    fn send_system(
        &mut self,
        to: Address,
        bytes: &[u8],
        tag: u64,
        life: u32,
    ) -> Result<bool, Error>;

    /// Sends a body, whose end will be told under its name.
    ///
    /// # Safety
    /// The memory stays valid and unchanged until then.
    unsafe fn send_body(&mut self, to: Address, name: Id, memory: &Memory) -> Result<(), Error>;

    /// Memory for the body that the peer calls `name`, which has come or will; that it is there will be told under our name
    /// `incoming`.
    ///
    /// # Safety
    /// The memory stays valid and untouched until then.
    unsafe fn receive_body(
        &mut self,
        from: Address,
        name: Id,
        memory: &Memory,
        incoming: Id,
    ) -> Result<(), Error>;

    /// Bodies that may wait with it for memory of their receivers, for all of these together. It has room for more than these
    /// are, or what was asked for could not leave while they wait.
    fn unasked_max(&self) -> usize;

    /// Takes the memory back, of which nothing has been used, and nothing is told of it any more. False: it has met the body.
    fn take_back(&mut self, from: Address, name: Id) -> bool;
}
