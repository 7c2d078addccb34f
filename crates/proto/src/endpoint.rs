//! One port on the network: all its connections.

use crate::config::Config;
use crate::counters::{Depths, Drops, PeerInfo, Traffic};
use crate::names::{Address, MessageId, OpId, Path, Rma, SystemHandle, Target};
use crate::time::Time;
use crate::transmit::Transmit;
use crate::upcalls::Upcalls;

/// Longest system message, and longest normal message that is sent before a buffer is known.
pub const SYSTEM_MAX: usize = 8192;

/// See the crate.
#[derive(Debug)]
pub struct Endpoint {
    config: Config,
}

impl Endpoint {
    /// A port that knows nobody yet.
    pub fn new(config: Config, job_key: &[u8; 32]) -> Self {
        let _ = job_key;
        Self { config }
    }

    /// Its own address.
    pub fn address(&self) -> Address {
        self.config.address
    }

    /// A datagram has come in.
    pub fn handle(&mut self, now: Time, from: Path, datagram: &[u8], up: &mut impl Upcalls) {
        let _ = (now, from, datagram, up);
    }

    /// The next packet to send. What it refers to stays in place until the next call that is not
    /// `poll_transmit`, [`bytes`](Self::bytes) or [`seal`](Self::seal).
    pub fn poll_transmit(&mut self, now: Time, up: &mut impl Upcalls) -> Option<Transmit> {
        let _ = (now, up);
        None
    }

    /// The payload of a packet if it lies here; `None` if it was lent (or if the packet was kept for too long:
    /// then it must be dropped).
    pub fn bytes<'a>(&'a self, transmit: &'a Transmit) -> Option<&'a [u8]> {
        let _ = transmit;
        None
    }

    /// The header of a packet with this payload, as it goes out.
    pub fn seal(&self, transmit: &Transmit, payload: &[u8]) -> [u8; crate::HEADER_BYTES] {
        let _ = (payload, transmit.key);
        transmit.header
    }

    /// When [`on_timeout`](Self::on_timeout) is to be called, if nothing happens before.
    pub fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// Time has passed.
    pub fn on_timeout(&mut self, now: Time, up: &mut impl Upcalls) {
        let _ = (now, up);
    }

    /// Sends a system message of at most [`SYSTEM_MAX`] bytes. True: it is complete, a copy was made. False: a copy
    /// waits under the name that `name` gives it, and `sent` will be called.
    pub fn send_system<U: Upcalls>(
        &mut self,
        now: Time,
        to: Address,
        data: &[u8],
        up: &mut U,
        name: impl FnOnce(&mut U) -> OpId,
    ) -> bool {
        let _ = (now, to, data);
        name(up);
        false
    }

    /// Sends `len_bytes` of the memory lent by `op` to a normal channel; `sent` is called when it is complete.
    pub fn send_normal(
        &mut self,
        now: Time,
        to: Address,
        channel: u16,
        op: OpId,
        len_bytes: u64,
        up: &mut impl Upcalls,
    ) {
        let _ = (now, to, channel, op, len_bytes, up);
    }

    /// Sends a message to the system channel that may be lost, and never comes twice. False if it is longer than
    /// a packet, there is no connection yet (then one is set up) or no room: it was dropped.
    pub fn send_unreliable(
        &mut self,
        now: Time,
        to: Address,
        data: &[u8],
        up: &mut impl Upcalls,
    ) -> bool {
        let _ = (now, to, data, up);
        false
    }

    /// Starts a one-sided operation; `rma_done` is called when it is complete.
    pub fn rma(&mut self, now: Time, to: Address, rma: Rma, up: &mut impl Upcalls) {
        let _ = (now, to, rma, up);
    }

    /// A buffer was posted for a message that waits. False if the message has gone meanwhile.
    pub fn accept(
        &mut self,
        now: Time,
        message: MessageId,
        target: Target,
        up: &mut impl Upcalls,
    ) -> bool {
        let _ = (now, message, target, up);
        false
    }

    /// A system message; empty if it was released. It stays where it is until then.
    pub fn data(&self, message: &SystemHandle) -> &[u8] {
        let _ = message;
        &[]
    }

    /// Gives a system message back. False if it was given back before.
    pub fn release(&mut self, message: &SystemHandle) -> bool {
        let _ = message;
        false
    }

    /// Takes leave of all peers. What was sent before still goes out, for as long as the driver goes on
    /// until [`is_drained`](Self::is_drained); what is not complete then never will be.
    pub fn close(&mut self, now: Time, up: &mut impl Upcalls) {
        let _ = (now, up);
    }

    /// Whether all peers have answered [`close`](Self::close), or are gone.
    pub fn is_drained(&self) -> bool {
        true
    }

    /// Whether there is a connection with this peer, or an attempt at one.
    pub fn knows(&self, peer: Address) -> bool {
        let _ = peer;
        false
    }

    /// The driver has learned how long datagrams to this peer may be, without the headers of UDP and IP.
    pub fn set_datagram_bytes(&mut self, peer: Address, datagram_bytes: u16) {
        let _ = (peer, datagram_bytes);
    }

    /// The network says that nobody listens there (ICMP). It could be forged, so that it only ends attempts at a
    /// connection, and has a connection that is up ask its peer.
    pub fn unreachable(&mut self, now: Time, path: Path, up: &mut impl Upcalls) {
        let _ = (now, path, up);
    }

    /// All connections, and attempts at one.
    pub fn peers(&self) -> impl Iterator<Item = PeerInfo> + '_ {
        std::iter::empty()
    }

    /// Packets that led to nothing.
    pub fn drops(&self) -> Drops {
        Drops::default()
    }

    /// The work of all connections, those that have ended included.
    pub fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    /// How full it is.
    pub fn depths(&self) -> Depths {
        Depths::default()
    }
}
