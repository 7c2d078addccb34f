//! What is known of another host.

use std::net::SocketAddr;

use bcl_types::Time;

/// Another host that has the region.
#[derive(Debug)]
pub(crate) struct Peer {
    pub address: SocketAddr,
    /// Its last sign of life.
    pub heard_at: Time,
    /// The number of its last beat: older ones are not believed again.
    pub last_beat: u64,
    /// The same for its wishes to follow.
    pub last_follow: u64,
    /// The same for its probes.
    pub last_probe: u64,
    /// It has heard what was sent to all at once.
    pub heard_group_at: Option<Time>,
    /// By member.
    pub hads: Vec<Had>,
}

/// What a host has of a member's log and partition, as far as it has said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Had {
    pub epoch: u64,
    pub have: u64,
    /// What it is to get from here, it is waited for.
    pub follows: bool,
    /// It has said so itself since it was promised that.
    pub is_sure: bool,
    /// Its copy of the partition has still to be fetched.
    pub is_lacking: bool,
    /// The epoch and the position that this copy is of.
    pub content: (u64, u64),
}

impl Peer {
    pub fn new(address: SocketAddr, now: Time, members: u16) -> Self {
        Self {
            address,
            heard_at: now,
            last_beat: 0,
            last_follow: 0,
            last_probe: 0,
            heard_group_at: None,
            hads: vec![Had::default(); usize::from(members)],
        }
    }
}

impl Had {
    /// It is waited for in that epoch.
    pub fn follows_in(&self, epoch: u64) -> bool {
        self.follows && self.epoch == epoch
    }

    /// It has said that it has come so far. Old news change nothing.
    pub fn heard(&mut self, epoch: u64, have: u64) {
        if (epoch, have) < (self.epoch, self.have) {
            return;
        }
        // Another process has become the member, elsewhere.
        self.follows &= epoch == self.epoch;
        self.is_sure = self.follows;
        (self.epoch, self.have) = (epoch, have);
    }
}
