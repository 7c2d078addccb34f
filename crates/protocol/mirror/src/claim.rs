//! A process becomes a member once no other host has another process that is ([REFLECT-8.5]).

use std::collections::{BTreeMap, BTreeSet};

use bcl_types::{Span, Time};

use crate::memory::Memory;
use crate::mirror::Mirror;
use crate::names::{Ended, HostId};
use crate::packet::{Header, Kind};
use crate::peer::Had;
use crate::sending::Sending;
use crate::stream::{Owner, Retry};

const FIRST: Span = Span::from_ms(5);
const LONGEST: Span = Span::from_ms(200);
/// How long a host keeps to what it has granted.
const GRANTED: Span = Span::from_ms(1000);

/// What became of a wish to be a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// Others have still to answer, or the log of who was the member before has still to come.
    Pending,
    /// It is the member; its log goes on at this position.
    Ours {
        /// Where.
        position: u64,
        /// [REFLECT-7.4]
        epoch: u64,
    },
    /// A process of this host is.
    Denied(HostId),
}

/// One such wish.
#[derive(Debug)]
pub(crate) struct Claim {
    number: u64,
    retry: Retry,
    pub waits_for: BTreeSet<HostId>,
    /// How far those who have answered have come in the member's log.
    pub granted: BTreeMap<HostId, (u64, u64)>,
    denied_by: Option<HostId>,
}

impl Mirror {
    /// A process of this host wants to be a member. To be asked again and again until it is not pending any more.
    pub fn claim(&mut self, now: Time, member: u16, memory: &impl Memory) -> Claimed {
        self.now = self.now.max(now);
        let stream = &self.streams[usize::from(member)];
        if let Some(owner) = stream.owner.filter(|owner| owner.ended.is_none()) {
            self.claims.remove(&member);
            return Claimed::Denied(owner.host);
        }
        let Some(claim) = self.claims.get(&member) else {
            let claim = Claim {
                number: self.next_number(),
                retry: Retry::at(self.now),
                waits_for: self.peers.keys().copied().collect(),
                granted: BTreeMap::new(),
                denied_by: None,
            };
            self.claims.insert(member, claim);
            self.wake_at(self.now);
            return Claimed::Pending;
        };
        if let Some(host) = claim.denied_by {
            self.claims.remove(&member);
            return Claimed::Denied(host);
        }
        let furthest = claim.granted.values().max();
        let is_here = furthest.is_none_or(|theirs| *theirs <= (stream.epoch, stream.have));
        let is_whole = !self.lacks(member);
        if !claim.waits_for.is_empty() || !is_here || !is_whole {
            return Claimed::Pending;
        }
        match self.claims.remove(&member) {
            Some(claim) => self.take(member, &claim.granted, memory),
            None => Claimed::Pending,
        }
    }

    /// The process does not want it any more.
    pub fn unclaim(&mut self, member: u16) {
        self.claims.remove(&member);
    }

    /// Nobody has anything against it.
    fn take(
        &mut self,
        member: u16,
        granted: &BTreeMap<HostId, (u64, u64)>,
        memory: &impl Memory,
    ) -> Claimed {
        let host = self.config.host;
        let epoch = self.epoch_after(self.streams[usize::from(member)].epoch);
        let stream = &mut self.streams[usize::from(member)];
        let position = stream.applied;
        // Those who have granted it will follow, and are waited for from the first write on.
        for (host, (theirs, have)) in granted {
            let goes_on = *theirs == stream.epoch && (stream.tail..=position).contains(have);
            if let Some(peer) = self.peers.get_mut(host) {
                let had = &mut peer.hads[usize::from(member)];
                *had = Had {
                    epoch,
                    have: if goes_on { *have } else { position },
                    follows: true,
                    is_sure: false,
                    ..*had
                };
            }
        }
        stream.prior = std::mem::replace(&mut stream.epoch, epoch);
        stream.base = position;
        stream.early.clear();
        (stream.have, stream.head) = (position, position);
        stream.owner = Some(Owner {
            epoch,
            host,
            ended: None,
        });
        stream.sending = Some(Sending::new(position));
        stream.is_broken = false;
        stream.nak.stop();
        self.unsaved.log(member);
        if !self.ours.contains(&member) {
            self.ours.push(member);
        }
        self.look_for_source(member);
        self.progressed(member, memory);
        self.beat_soon();
        Claimed::Ours { position, epoch }
    }

    /// Others have a log of a member of this host that has a later epoch: of a process that was the member where this host was not
    /// heard. It has ended, or will say so itself.
    pub(crate) fn is_outdone(&mut self, member: u16, by: u64, memory: &impl Memory) {
        let stream = &mut self.streams[usize::from(member)];
        let before = stream.epoch;
        if stream.sending.is_none() || by <= before {
            return;
        }
        self.unsaved.log(member);
        if stream.owner.is_some_and(|owner| owner.ended.is_some()) {
            stream.sending = None;
            stream.owner = None;
            self.ours.retain(|ours| *ours != member);
            return;
        }
        self.catch_up_with_program(member, memory);
        let (epoch, host) = (self.epoch_after(by), self.config.host);
        let stream = &mut self.streams[usize::from(member)];
        (stream.epoch, stream.prior, stream.base) = (epoch, before, stream.have);
        let ended = None;
        stream.owner = Some(Owner { epoch, host, ended });
        for peer in self.peers.values_mut() {
            let had = &mut peer.hads[usize::from(member)];
            if had.follows_in(before) {
                (had.epoch, had.is_sure) = (epoch, false);
            }
        }
        self.beat_soon();
    }

    /// For the next process that is the member.
    fn epoch_after(&mut self, epoch: u64) -> u64 {
        let chance = self.random.next_u64() & u64::from(u32::MAX);
        ((epoch >> 32) + 1) << 32 | chance
    }

    /// A member of this host has ended.
    pub fn end(&mut self, now: Time, member: u16, ended: Ended, memory: &impl Memory) {
        self.now = self.now.max(now);
        self.catch_up_with_program(member, memory);
        let stream = &mut self.streams[usize::from(member)];
        if let Some(owner) = &mut stream.owner
            && owner.host == self.config.host
        {
            owner.ended = ended;
            self.beat_soon();
        }
    }

    pub(crate) fn claim_again(&mut self) {
        let now = self.now;
        let mut asked = Vec::new();
        for (member, claim) in &mut self.claims {
            if claim.retry.is_due(now) && !claim.waits_for.is_empty() {
                claim.retry.again(now, FIRST, LONGEST);
                let waits_for = claim.waits_for.iter();
                asked.extend(waits_for.map(|host| (*host, *member, claim.number)));
            }
        }
        for (host, member, number) in asked {
            let header = Header {
                member,
                extra: number,
                ..self.header_to(Kind::Claim, host)
            };
            self.send_to(host, header, &[]);
        }
        let waiting = self
            .claims
            .values()
            .filter(|claim| !claim.waits_for.is_empty());
        let next = waiting.filter_map(|claim| claim.retry.due).min();
        self.wake_at_any(next);
    }

    pub(crate) fn on_claim(&mut self, header: &Header) {
        let (now, member, host) = (self.now, header.member, header.host);
        let us = self.config.host;
        if let Some(claim) = self.claims.get_mut(&member)
            && host < us
        {
            claim.denied_by = Some(host);
        }
        let is_claimed_here = self.claims.contains_key(&member);
        let stream = &mut self.streams[usize::from(member)];
        let lives_at = stream.owner.filter(|owner| owner.ended.is_none());
        let granted = stream.granted.filter(|(_, until)| *until > now);
        let against = match (lives_at, granted) {
            (Some(owner), _) => Some(owner.host),
            _ if is_claimed_here && us < host => Some(us),
            (None, Some((granted, _))) => Some(granted),
            (None, None) => None,
        };
        let against = against.filter(|other| *other != host);
        let kind = match against {
            Some(_) => Kind::Deny,
            None => {
                stream.granted = Some((host, now + GRANTED));
                Kind::Grant
            }
        };
        let answer = Header {
            member,
            epoch: stream.epoch,
            position: against.map_or(stream.have, |other| other.0),
            extra: header.extra,
            ..self.header_to(kind, host)
        };
        self.send_to(host, answer, &[]);
    }

    pub(crate) fn on_grant(&mut self, header: &Header) {
        if let Some(claim) = self.claim_of(header)
            && claim.waits_for.remove(&header.host)
        {
            let theirs = (header.epoch, header.position);
            claim.granted.insert(header.host, theirs);
            if let Some(peer) = self.peers.get_mut(&header.host) {
                peer.hads[usize::from(header.member)].heard(theirs.0, theirs.1);
            }
            self.look_for_source(header.member);
        }
    }

    pub(crate) fn on_deny(&mut self, header: &Header) {
        if let Some(claim) = self.claim_of(header) {
            claim.denied_by = Some(HostId(header.position));
        }
    }

    fn claim_of(&mut self, header: &Header) -> Option<&mut Claim> {
        let claim = self.claims.get_mut(&header.member);
        claim.filter(|claim| claim.number == header.extra)
    }
}
