//! What a host writes down, so that another of its processes can go on where one has ended ([REFLECT-8.6]).
//!
//! All that it says to others it has written down before. What others had said, they say again.

use std::net::SocketAddr;

use bcl_types::Time;

use crate::following::POSITION_MAX;
use crate::memory::Memory;
use crate::mirror::Mirror;
use crate::names::{Config, Ended, HostId};
use crate::peer::{Had, Peer};
use crate::sending::Sending;
use crate::stream::Owner;

/// What a host has of a member's log and partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Saved {
    /// Names what the log is since a process became the member; 0 if none has.
    pub epoch: u64,
    /// Where that began,
    pub base: u64,
    /// and which was before.
    pub prior: u64,
    /// All before this is here,
    pub have: u64,
    /// and in the region,
    pub applied: u64,
    /// and in the log, from here on.
    pub tail: u64,
    /// The process is, or was, one of this host.
    pub is_ours: bool,
    /// Nothing is taken from it any more.
    pub is_broken: bool,
    /// The partition is to be fetched.
    pub is_lacking: bool,
    /// How far the log had come where it was fetched from.
    pub reaches: u64,
    /// What the partition is a copy of, by epoch and position, if not of what the log is at.
    pub content: Option<(u64, u64)>,
}

/// What was written down by the process before.
#[derive(Debug, Clone, Default)]
pub struct Before {
    /// By member,
    pub logs: Vec<Saved>,
    /// and whether the process has ended, of those that are of this host.
    pub ended: Vec<Ended>,
    /// Others that were there.
    pub hosts: Vec<(HostId, SocketAddr)>,
}

/// What is to be written down.
#[derive(Debug)]
pub(crate) struct Unsaved {
    /// By member.
    logs: Vec<bool>,
    any: bool,
    hosts: bool,
}

impl Unsaved {
    pub fn new(members: usize) -> Self {
        Self {
            logs: vec![false; members],
            any: false,
            hosts: false,
        }
    }

    pub fn log(&mut self, member: u16) {
        self.logs[usize::from(member)] = true;
        self.any = true;
    }

    pub fn all_logs(&mut self) {
        self.logs.fill(true);
        self.any = true;
    }

    pub fn hosts(&mut self) {
        self.hosts = true;
    }
}

impl Mirror {
    /// For a host that has had the region before, in another process that has ended.
    pub fn resume(config: Config, now: Time, before: &Before, memory: &impl Memory) -> Self {
        let mut mirror = Self::new(config, now);
        for (host, address) in &before.hosts {
            let peer = Peer::new(*address, now, mirror.config.geometry.members);
            mirror.peers.insert(*host, peer);
            // It may know this host by another address.
            mirror.greet(*address);
        }
        mirror.hosts_changed();
        let logs = before.logs.iter().zip(&before.ended);
        for (member, (saved, ended)) in (0..mirror.config.geometry.members).zip(logs) {
            mirror.restore(member, saved, *ended, memory);
        }
        mirror
    }

    fn restore(&mut self, member: u16, saved: &Saved, ended: Ended, memory: &impl Memory) {
        // A program that ran wild may have written there.
        let log_bytes = self.config.geometry.log_bytes;
        let is_sound = saved.have < POSITION_MAX
            && saved.applied <= saved.have
            && saved.have - saved.applied <= log_bytes;
        if !is_sound {
            return;
        }
        self.fetching.restore(member, saved);
        let stream = &mut self.streams[usize::from(member)];
        stream.epoch = saved.epoch;
        (stream.base, stream.prior) = (saved.base, saved.prior);
        (stream.have, stream.applied) = (saved.have, saved.applied);
        (stream.head, stream.tail) = (saved.have, saved.tail.min(saved.have));
        stream.report.told = saved.have;
        stream.is_broken = saved.is_broken;
        if !saved.is_ours {
            return;
        }
        let (epoch, host) = (saved.epoch, self.config.host);
        stream.owner = Some(Owner { epoch, host, ended });
        self.ours.push(member);
        // Others have at least this, and are taken to follow: who does not says so.
        let floor = memory.floor(member).min(memory.head(member));
        stream.sending = Some(Sending::new(floor));
        for peer in self.peers.values_mut() {
            peer.hads[usize::from(member)] = Had {
                epoch,
                have: floor,
                follows: true,
                ..Had::default()
            };
        }
        self.catch_up_with_program(member, memory);
        self.progressed(member, memory);
    }

    /// Writes down what has changed.
    pub(crate) fn save(&mut self, memory: &impl Memory) {
        if std::mem::take(&mut self.unsaved.any) {
            for member in 0..self.config.geometry.members {
                if std::mem::take(&mut self.unsaved.logs[usize::from(member)]) {
                    memory.save(member, &self.saved(member));
                }
            }
        }
        if std::mem::take(&mut self.unsaved.hosts) {
            memory.save_hosts(&mut self.hosts());
        }
    }

    fn saved(&self, member: u16) -> Saved {
        let stream = &self.streams[usize::from(member)];
        let (is_lacking, reaches, content) = self.fetching.partition(member);
        Saved {
            epoch: stream.epoch,
            base: stream.base,
            prior: stream.prior,
            have: stream.have,
            applied: stream.applied,
            tail: stream.tail,
            is_ours: stream.sending.is_some(),
            is_broken: stream.is_broken,
            is_lacking,
            reaches,
            content,
        }
    }
}
