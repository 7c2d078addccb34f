//! What an endpoint tells the port it belongs to, and asks of it.

use bcl_types::{Address, Atomic, Cause, OpError, OpId, Refusal};

use crate::names::{MessageId, Path, SystemHandle, Target, WindowPut};

/// The port's side. None of these may call back into the endpoint.
///
/// Memory goes by the name of the operation that lent it: the protocol holds no pointers.
pub trait Upcalls {
    /// Where packets for this peer go; asked when the peer becomes active. `None`: it is unreachable.
    fn path_to(&mut self, peer: Address) -> Option<Path>;
    /// What the keys of this peer's port are derived from; asked when we make contact with it. `None`: from what ours are.
    fn secret_of(&mut self, peer: Address) -> Option<[u8; 32]> {
        let _ = peer;
        None
    }
    /// The longest datagram that the way there takes, without the headers of UDP and IP, as far as this side knows;
    /// asked when the peer becomes active, and now and then. `None`: the [usual](crate::Config::datagram_bytes).
    fn datagram_bytes(&mut self, path: Path) -> Option<u16>;
    /// Whether an interface program of the port sees what comes from there: not what comes by another interface, as
    /// from the own host.
    fn passes_interface(&mut self, path: Path) -> bool {
        let _ = path;
        true
    }
    /// Whether the port can take no more receive events for now; arrivals then stay with their senders.
    fn is_full(&self) -> bool;
    /// Whether messages have arrived of which the program has not heard yet, so that it could not give them buffers. A
    /// peer that takes leave meanwhile is not gone before it has: [`Endpoint::see_off`](crate::Endpoint::see_off).
    fn owes_arrivals(&self) -> bool {
        false
    }
    /// A system message arrived. Its `bytes` stay where they are until it is
    /// [released](crate::Endpoint::release). `immediate` is what its sender has given along.
    fn system(&mut self, from: Address, message: SystemHandle, immediate: u64, bytes: &[u8]);
    /// A message on a normal channel arrived: a buffer for it, or `None` to keep it waiting. `immediate` is what its
    /// sender has given along.
    fn arrived(
        &mut self,
        from: Address,
        message: MessageId,
        channel: u16,
        len_bytes: u64,
        immediate: u64,
    ) -> Option<Target>;
    /// A message that was kept waiting is gone together with its sender.
    fn withdrawn(&mut self, message: MessageId, channel: u16);
    /// Bytes for the memory of an operation, at `offset` there; false if that memory is gone.
    fn place(&mut self, op: OpId, offset: u64, bytes: &[u8]) -> bool;
    /// Copies what an operation has lent to be sent, from `offset` there; false if that memory is gone. For packets
    /// that are cut into pieces; all others take it from where it lies.
    fn fetch(&mut self, op: OpId, offset: u64, into: &mut [u8]) -> bool;
    /// A posted buffer is done with.
    fn received(
        &mut self,
        from: Address,
        channel: u16,
        op: OpId,
        len_bytes: u64,
        result: Result<(), OpError>,
    );
    /// A send is complete: the memory may be used again.
    fn sent(
        &mut self,
        to: Address,
        channel: u16,
        op: OpId,
        len_bytes: u64,
        result: Result<(), OpError>,
    );
    /// A one-sided operation is complete; `value` is what an atomic found.
    fn rma_done(
        &mut self,
        peer: Address,
        window: u16,
        op: OpId,
        value: u64,
        result: Result<(), OpError>,
    );
    /// A peer writes into a window. The owner is notified after the last piece, if it wants to be.
    fn window_put(&mut self, from: Address, put: WindowPut, bytes: &[u8]) -> Result<(), Refusal>;
    /// The interface program has written into a window for a peer; only said of windows that notify. The access
    /// began at `start` and is complete.
    fn window_written(&mut self, from: Address, window: u16, start: u64, len_bytes: u64);
    /// The payload of a message may be written into its buffer by the interface program, which has the connection:
    /// it comes in pieces that bear these numbers, until `received` is called for the buffer ([MCP-4.6]).
    fn granted(&mut self, connection: u32, message: u32, op: OpId, len_bytes: u64) {
        let _ = (connection, message, op, len_bytes);
    }
    /// A peer reads a window: fills `into` with what lies at `offset`.
    fn window_get(
        &mut self,
        from: Address,
        window: u16,
        offset: u64,
        into: &mut [u8],
    ) -> Result<(), Refusal>;
    /// A peer changes a word of a window; what was there comes back.
    fn window_atomic(
        &mut self,
        from: Address,
        window: u16,
        offset: u64,
        atomic: Atomic,
    ) -> Result<u64, Refusal>;
    /// A HELLO of another job was refused.
    fn stranger(&mut self) {}
    /// A connection is up.
    fn peer_up(&mut self, peer: Address);
    /// A connection is gone; everything pending on it has been reported.
    fn peer_gone(&mut self, peer: Address, cause: Cause);
    /// No connection has come about, or no way leads there; everything that waited for it has been reported.
    fn peer_unreached(&mut self, peer: Address) {
        let _ = peer;
    }
}
