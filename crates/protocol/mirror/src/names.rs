//! What hosts, places and settings are called.

use std::net::SocketAddr;

use bcl_types::Span;

/// A host, for as long as it has the region: chosen by chance when it gets it, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u64);

/// What all hosts of a region must say alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Members that there can be.
    pub members: u16,
    /// Length of the region, a multiple of 8.
    pub region_bytes: u64,
    /// Length of each member's log, a multiple of 8.
    pub log_bytes: u64,
}

impl Geometry {
    /// A member's own part of the region: all parts are equal, and the last has what is left over ([REFLECT-7.1]).
    pub fn partition(&self, member: u16) -> (u64, u64) {
        let each = self.region_bytes / u64::from(self.members) / 8 * 8;
        let start = each * u64::from(member);
        let end = match member + 1 == self.members {
            true => self.region_bytes,
            false => start + each,
        };
        (start, end)
    }

    /// Longest write that a frame of a log tells: so that several fit the log, and none keeps others waiting for long.
    pub fn frame_max(&self) -> u64 {
        (self.log_bytes / 8).min(8192)
    }
}

/// Settings of one host.
#[derive(Debug, Clone)]
pub struct Config {
    /// This host.
    pub host: HostId,
    /// The region.
    pub geometry: Geometry,
    /// What the keys of its packets are derived from.
    pub secret: [u8; 32],
    /// Where other hosts may be: each at one of the addresses of its place.
    pub places: Vec<Vec<SocketAddr>>,
    /// A multicast group that hosts of the region have joined, or may have.
    pub group: Option<SocketAddr>,
    /// Most that goes behind a header: 1,032 at least, 8,896 at most.
    pub payload_bytes: usize,
    /// To how many others a host sends a packet by itself, 1 at least; they pass it on ([REFLECT-9.2]).
    pub fan_out: usize,
    /// How long others are looked for before those who do not answer are taken for not there.
    pub patience: Span,
    /// For nonces.
    pub seed: u64,
}

/// How a member has ended, as the driver numbers it; `None` while it is there.
pub type Ended = Option<std::num::NonZeroU32>;

/// What the driver is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Another host has the region too.
    HostCame(HostId),
    /// It has left, or is silent for too long. Members that are there as far as the driver knows, from the process before, have gone with it.
    HostGone(HostId),
    /// A member lives on another host.
    MemberCame {
        /// Which.
        member: u16,
        /// Where.
        host: HostId,
        /// As what: [REFLECT-7.4].
        epoch: u64,
    },
    /// It has ended there; without a cause if nobody knows how.
    MemberGone {
        /// Which.
        member: u16,
        /// As what.
        epoch: u64,
        /// How.
        ended: Ended,
    },
    /// A process of another host has become this member meanwhile, while both could not hear each other: what the one here
    /// writes reaches nobody.
    Usurped {
        /// Which.
        member: u16,
        /// Where.
        host: HostId,
    },
    /// What was missed is in no log any more: the region is fetched anew.
    FetchesAnew,
    /// It is whole again.
    IsWhole,
    /// A host has a region of this name that is another.
    Refused(Geometry),
}
