//! Which buffer a message gets: decided when it arrives, before any of it is placed.

use bcl_tier::{Arrival, MessageId, Target};

/// Decides. Ports of programs have [`Channels`](crate::Channels): first come, first served on each. A middle layer has its
/// own, which looks at the sender and at the immediate data, so that tags cost no round trip.
///
/// Called while a tier is at work, so that it cannot call the port. The buffers are operations of the port:
/// [`RawPort::begin_post`](crate::RawPort::begin_post) names each, and its end is an
/// [`Event::Received`](crate::Event::Received).
pub trait Matcher {
    /// A message has arrived: the buffer that it gets, or `None` to let it wait until it is
    /// [accepted](crate::RawPort::accept).
    fn arrived(&mut self, arrival: &Arrival) -> Option<Target>;

    /// A message that waits is gone with its sender.
    fn withdrawn(&mut self, message: MessageId, channel: u16);

    /// Buffers that no message has met: operations that nobody is at work for.
    fn posted(&self) -> usize;
}
