//! When the receiver acknowledges ([WIRE-5.3]).

use crate::time::{Span, Time};

/// Packets that are acknowledged together.
const TOGETHER: u32 = 8;
/// How long an acknowledgement may wait for a packet that takes it along.
const PATIENCE: Span = Span::from_us(25);

/// What is to be acknowledged, and by when.
#[derive(Debug, Clone, Default)]
pub struct Acks {
    unacknowledged: u32,
    deadline: Option<Time>,
    is_due: bool,
    /// When the newest packet came that is not acknowledged.
    newest_at: Time,
    /// For how long nobody had looked before one of them was taken.
    away: Span,
}

impl Acks {
    /// A sequenced packet was taken.
    #[inline]
    pub fn on_taken(&mut self, now: Time, at_once: bool) {
        self.unacknowledged += 1;
        self.newest_at = now;
        if at_once || self.unacknowledged >= TOGETHER {
            self.is_due = true;
        } else {
            self.deadline.get_or_insert(now + PATIENCE);
        }
    }

    /// Packets are taken for which nobody had looked so long: the sender is told at once that they were not under way meanwhile.
    #[cold]
    pub fn on_away(&mut self, away: Span) {
        self.away = self.away.max(away);
        self.is_due = true;
    }

    /// The interface program has taken a packet, and has acknowledged all that it took or nothing ([MCP-6.4]).
    pub fn on_told(&mut self, now: Time, is_acked: bool) {
        if is_acked {
            return self.on_sent();
        }
        self.newest_at = now;
        self.deadline.get_or_insert(now + PATIENCE);
    }

    /// Something came that shows that the sender does not know what we have.
    pub fn at_once(&mut self, now: Time) {
        self.newest_at = now;
        self.is_due = true;
    }

    #[inline]
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    #[inline]
    pub fn on_time(&mut self, now: Time) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.is_due = true;
            self.deadline = None;
        }
    }

    /// How long the sender would take the round trip to be too long.
    pub fn delay(&self, now: Time) -> Span {
        now.since(self.newest_at)
    }

    /// For how long nobody had looked for what is to be acknowledged. Only an ACK can tell that: it leaves before all else.
    #[inline]
    pub fn away(&self) -> Span {
        self.away
    }

    /// An acknowledgement has left.
    #[inline]
    pub fn on_sent(&mut self) {
        self.unacknowledged = 0;
        self.deadline = None;
        self.is_due = false;
        self.away = Span::ZERO;
    }
}
