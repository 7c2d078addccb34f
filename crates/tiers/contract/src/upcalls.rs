//! What a tier tells the port it belongs to.

use bcl_types::{Address, Cause, OpError, OpId};

use crate::handles::{Arrival, LinkInfo, MessageId, SystemHandle, Target};

/// The port's side of a tier. None of these may call back into the tier.
pub trait Upcalls {
    /// Whether the port can take no more receive events for now; the tier then leaves arrivals where they are.
    fn is_full(&self) -> bool;
    /// Whether messages have arrived of which the program has not heard yet, so that it could not give them buffers. Their
    /// sender must not be seen to close before it has ([SEM-7.4]).
    fn owes_arrivals(&self) -> bool {
        false
    }
    /// A system message arrived.
    fn system(&mut self, from: Address, message: SystemHandle);
    /// A message on a normal channel arrived: a buffer for it, or `None` to keep it waiting.
    fn arrived(&mut self, arrival: &Arrival) -> Option<Target>;
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
    /// An attempt at a connection has failed; everything that waited for it has been reported.
    fn peer_unreached(&mut self, peer: Address);
}
