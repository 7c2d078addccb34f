//! One packet for all where the network has IP multicast ([REFLECT-9.6]): probes find out whom it reaches.

use std::net::SocketAddr;

use bcl_types::{Span, Time};

use crate::mirror::{Mirror, To};
use crate::names::HostId;
use crate::packet::{Header, Kind};

/// How often is asked who hears the group,
const APART: Span = Span::from_ms(1000);
/// and how soon after somebody has come.
const SOON: Span = Span::from_ms(20);
/// For so long an answer counts: three probes.
const COUNTS: Span = Span::from_ms(3000);
/// Fewer are sent to one by one.
const HEARERS_MIN: usize = 2;

/// A multicast group, and who of the others hears it.
#[derive(Debug)]
pub(crate) struct Group {
    pub address: SocketAddr,
    probe_due: Time,
    /// The numbers of the last probes: answers to earlier ones prove nothing.
    probes: [u64; 2],
    /// Where packets of logs go while the group is used: to it, and to those who do not hear it.
    to: Vec<SocketAddr>,
}

impl Group {
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            probe_due: Time(0),
            probes: [0; 2],
            to: Vec::new(),
        }
    }
}

impl Mirror {
    /// Where packets of logs go, if not by the tree.
    pub(crate) fn by_group(&self) -> Option<&[SocketAddr]> {
        let group = self.group.as_ref().filter(|group| !group.to.is_empty());
        group.map(|group| &group.to[..])
    }

    /// How many other hosts get packets of logs by multicast.
    pub fn hearers(&self) -> usize {
        let by_themselves = self.by_group().map(|to| to.len() - 1);
        by_themselves.map_or(0, |others| self.peers.len() - others)
    }

    /// Asks who hears the group, if it is time to and somebody here writes.
    pub(crate) fn probe(&mut self) {
        let now = self.now;
        let is_of_use = self.peers.len() >= HEARERS_MIN && !self.ours.is_empty();
        let Some(group) = self.group.as_ref().filter(|_| is_of_use) else {
            return;
        };
        if now < group.probe_due {
            return self.wake_at(group.probe_due);
        }
        let number = self.next_number();
        let header = Header {
            position: number,
            ..self.header(Kind::Probe)
        };
        self.send(To::Group, header, &[]);
        let due = self.wake_in(APART);
        if let Some(group) = &mut self.group {
            group.probe_due = due;
            group.probes = [number, group.probes[0]];
        }
        self.choose_way();
    }

    /// Somebody has come.
    pub(crate) fn probe_soon(&mut self) {
        let due = self.now + SOON;
        if let Some(group) = &mut self.group {
            group.probe_due = group.probe_due.min(due);
            self.wake_at(due);
        }
    }

    /// What is sent to the group by a host reaches this one.
    pub(crate) fn on_probe(&mut self, header: &Header) {
        let Some(peer) = self.peers.get_mut(&header.host) else {
            return;
        };
        // Said again by somebody else, it would have all answer.
        if header.position <= peer.last_probe {
            return self.counts.stale += 1;
        }
        peer.last_probe = header.position;
        let answer = Header {
            position: header.position,
            ..self.header_to(Kind::Heard, header.host)
        };
        self.send_to(header.host, answer, &[]);
    }

    pub(crate) fn on_heard(&mut self, header: &Header) {
        let is_asked = |group: &Group| group.probes.contains(&header.position);
        if header.position == 0 || !self.group.as_ref().is_some_and(is_asked) {
            return self.counts.stale += 1;
        }
        if let Some(peer) = self.peers.get_mut(&header.host) {
            peer.heard_group_at = Some(self.now);
            self.choose_way();
        }
    }

    /// These may not hear the group any more: until they answer a probe that is still to come, they are sent to by themselves.
    pub(crate) fn doubt(&mut self, hosts: &[HostId]) {
        if self.by_group().is_none() {
            return;
        }
        for host in hosts {
            if let Some(peer) = self.peers.get_mut(host) {
                peer.heard_group_at = None;
            }
        }
        if let Some(group) = &mut self.group {
            group.probes = [0; 2];
        }
        self.choose_way();
    }

    pub(crate) fn choose_way(&mut self) {
        let now = self.now;
        let Some(group) = &mut self.group else {
            return;
        };
        group.to.clear();
        group.to.push(group.address);
        let hears = |at: Option<Time>| at.is_some_and(|at| now.since(at) < COUNTS);
        let peers = self.peers.values();
        let deaf = peers.filter(|peer| !hears(peer.heard_group_at));
        group.to.extend(deaf.map(|peer| peer.address));
        let deaf = group.to.len() - 1;
        if self.peers.len() - deaf < HEARERS_MIN || deaf > self.config.fan_out {
            group.to.clear();
        }
    }
}
