//! What a host has of a member's log.

use bcl_types::{Span, Time};

use crate::gaps::Early;
use crate::names::{Ended, HostId};
use crate::sending::Sending;

/// A member's log on this host.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Whose it is; nobody's if no member has been there, or its host has gone.
    pub owner: Option<Owner>,
    /// Names what the log is since a process became the member, and tells it from what others as the same member wrote; 0 if
    /// there was none.
    pub epoch: u64,
    /// Where that began,
    pub base: u64,
    /// and the epoch before.
    pub prior: u64,
    /// All before this is here,
    pub have: u64,
    /// and in the region, in whole frames,
    pub applied: u64,
    /// and in the log, from here on.
    pub tail: u64,
    /// So much there is, as far as known.
    pub head: u64,
    /// What has come beyond `have`.
    pub early: Early,
    /// From whom the rest is to come.
    pub follow: Follow,
    /// Missing bytes that are asked for.
    pub nak: Retry,
    pub report: Report,
    /// If the member is on this host.
    pub sending: Option<Sending>,
    /// A host that may become the host of the member, and until when that is remembered.
    pub granted: Option<(HostId, Time)>,
    /// Its frames make no sense: nothing is taken from it until another process is the member.
    pub is_broken: bool,
    /// The member has ended, and what it wrote last has still to come.
    pub ending: Option<Ending>,
}

/// The end of a member that nobody here has been told of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    /// Where its log ends.
    pub at: u64,
    /// Then all are told, whether the rest has come or not.
    pub by: Time,
}

/// Where a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub epoch: u64,
    pub host: HostId,
    /// 0 while it is there.
    pub ended: Ended,
}

/// Whom a host gets a log from.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    pub source: Option<HostId>,
    /// The source counts on this host.
    pub is_agreed: bool,
    /// So much there was when it agreed.
    pub head_then: u64,
    pub retry: Retry,
}

/// What the log's host has to hear of.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub due: Option<Time>,
    /// Told so far.
    pub told: u64,
}

impl Follow {
    /// There is one, and it has not agreed yet.
    pub fn is_open(&self) -> bool {
        self.source.is_some() && !self.is_agreed
    }
}

impl Report {
    /// To be told then, if not before.
    pub fn by(&mut self, due: Time) {
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }
}

/// Something that is asked for again until it is answered, ever more seldom.
#[derive(Debug, Default)]
pub(crate) struct Retry {
    pub due: Option<Time>,
    pub tries: u32,
}

impl Retry {
    /// To be done then for the first time.
    pub fn at(at: Time) -> Self {
        let due = Some(at);
        Self { due, tries: 0 }
    }

    /// The same, whatever was before.
    pub fn start(&mut self, at: Time) {
        *self = Self::at(at);
    }

    pub fn stop(&mut self) {
        *self = Self::default();
    }

    pub fn is_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// It has been done: the next time, after twice as long as before.
    pub fn again(&mut self, now: Time, first: Span, longest: Span) {
        let span = first.times(1 << self.tries.min(20));
        self.due = Some(now + span.min(longest));
        self.tries += 1;
    }
}

impl Stream {
    /// So much of the log is written here: what lies a whole log before is no longer there.
    pub fn reaches(&mut self, end: u64, log_bytes: u64) {
        self.tail = self.tail.max(end.saturating_sub(log_bytes));
    }

    /// Goes on at a position, and has nothing of what was before.
    pub fn skip_to(&mut self, position: u64) {
        self.early.clear();
        (self.have, self.applied, self.tail) = (position, position, position);
        self.head = position;
        self.report.told = position;
    }

    /// How far others can expect to get: what a program here that has not ended has written beyond that was not sent yet.
    pub fn known_end(&self) -> u64 {
        let has_ended = self.owner.is_some_and(|owner| owner.ended.is_some());
        match &self.sending {
            Some(sending) if !has_ended => sending.sent,
            _ => self.have,
        }
    }

    /// Whether its member is, or was last, on that host.
    pub fn is_of(&self, host: HostId) -> bool {
        self.owner.is_some_and(|owner| owner.host == host)
    }

    /// Whether its member is a process of this host.
    pub fn lives_here(&self) -> bool {
        self.sending.is_some() && self.owner.is_some_and(|owner| owner.ended.is_none())
    }

    /// Whether what the member wrote last may still come.
    pub fn is_ending(&self, now: Time) -> bool {
        let is_to_come = self.follow.source.is_some() && !self.is_broken;
        let is_earlier = self.owner.is_some_and(|owner| self.epoch < owner.epoch);
        let lacks_some = |ending: Ending| is_earlier || self.applied < ending.at;
        let is_held = |ending: Ending| lacks_some(ending) && now < ending.by;
        is_to_come && self.ending.is_some_and(is_held)
    }

    /// Whether some of it has still to come here, or to be acknowledged by others.
    pub fn is_under_way(&self) -> bool {
        match &self.sending {
            Some(sending) => sending.is_awaited(),
            // What nobody has who is there will not come.
            None => self.is_behind() && self.follow.source.is_some(),
        }
    }

    /// Whether all is here that there was when it began to be followed.
    pub fn has_caught_up(&self) -> bool {
        match self.follow.source {
            Some(_) => self.follow.is_agreed && self.have >= self.follow.head_then,
            None => true,
        }
    }

    /// Whether what is known to exist is not all here.
    pub fn is_behind(&self) -> bool {
        self.have < self.head
    }
}
