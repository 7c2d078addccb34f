//! What a tier tells the port it belongs to.

/// A connection of the port, never reused.
use bcl_types::{Address, Cause, OpError, OpId};

pub type LinkId = u64;

/// Set in the links of tiers that live elsewhere: a port has several, and their names must not be mixed up.
const FOREIGN: LinkId = 1 << 63;

/// A message on a normal channel that waits for a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageId {
    pub(crate) slot: u32,
    pub(crate) link: LinkId,
    pub(crate) number: u32,
}

/// A posted buffer.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Where the message goes.
    pub start: *mut u8,
    /// How long it may be.
    pub capacity_bytes: usize,
    /// The posting operation.
    pub op: OpId,
}

// SAFETY: an address that is only carried; the poster vouches for the memory, whichever thread fills it.
unsafe impl Send for Target {}

/// A system message that lies in the pool, or in a private copy if it is tiny, until it is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemHandle {
    pub(crate) slot: u32,
    pub(crate) link: LinkId,
    pub(crate) number: u64,
    /// First byte.
    pub start: *const u8,
    /// Length in bytes.
    pub len_bytes: u32,
}

// SAFETY: a handle is a name and an address; what it points to belongs to the port.
unsafe impl Send for SystemHandle {}

impl MessageId {
    /// A name of another tier, told from ours by a bit of its link.
    pub fn foreign(slot: u32, link: LinkId, number: u32) -> Self {
        let link = link | FOREIGN;
        Self { slot, link, number }
    }

    /// Slot, link without the bit, and number, if another tier made it.
    pub fn as_foreign(&self) -> Option<(u32, LinkId, u32)> {
        (self.link & FOREIGN != 0).then_some((self.slot, self.link & !FOREIGN, self.number))
    }
}

impl SystemHandle {
    /// A message of another tier; `start` stays readable until it is released.
    pub fn foreign(slot: u32, link: LinkId, number: u64, start: *const u8, len_bytes: u32) -> Self {
        Self {
            slot,
            link: link | FOREIGN,
            number,
            start,
            len_bytes,
        }
    }

    /// Slot, link without the bit, and number, if another tier made it.
    pub fn as_foreign(&self) -> Option<(u32, LinkId, u64)> {
        (self.link & FOREIGN != 0).then_some((self.slot, self.link & !FOREIGN, self.number))
    }

    /// The name alone, as three words of which the first is not 0, for bindings to other languages.
    pub fn to_words(&self) -> [u64; 3] {
        [u64::from(self.slot) + 1, self.link, self.number]
    }

    /// A handle that can be released, but not read, from words that may have come from anywhere.
    pub fn from_words([slot, link, number]: [u64; 3]) -> Option<Self> {
        Some(Self {
            slot: slot.checked_sub(1)?.try_into().ok()?,
            link,
            number,
            start: std::ptr::null(),
            len_bytes: 0,
        })
    }
}

/// How a connection moves data, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkInfo {
    /// Tier in use.
    pub tier: &'static str,
    /// How long messages are copied, and why so.
    pub copy: String,
}

/// The port's side of the tier interface. None of these may call back into the tier.
pub trait Upcalls {
    /// Whether the port can take no more receive events for now; the tier then leaves arrivals where they are.
    fn is_full(&self) -> bool;
    /// A system message arrived.
    fn system(&mut self, from: Address, message: SystemHandle);
    /// A message on a normal channel arrived: a buffer for it, or `None` to keep it waiting.
    fn arrived(
        &mut self,
        from: Address,
        message: MessageId,
        channel: u16,
        len_bytes: u64,
    ) -> Option<Target>;
    /// A message that was kept waiting is gone together with its sender.
    fn withdrawn(&mut self, message: MessageId, channel: u16);
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
    /// A peer wrote into one of our windows that asks for notices.
    fn rma_arrived(&mut self, from: Address, window: u16, offset: u64, len_bytes: u64);
    /// A connection is up.
    fn peer_up(&mut self, peer: Address, info: &LinkInfo);
    /// A connection is gone; everything pending on it has been reported.
    fn peer_gone(&mut self, peer: Address, cause: Cause);
}
