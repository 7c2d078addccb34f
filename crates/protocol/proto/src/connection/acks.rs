//! When the receiver acknowledges ([WIRE-5.3]).

use bcl_types::{Span, Time};

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
    /// So many packets have come that the sender is to be told, unless the program has something for it just now.
    is_owed: bool,
    /// The endpoint will come back to that.
    is_noted: bool,
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
        self.is_due |= at_once;
        self.is_owed |= self.unacknowledged >= TOGETHER;
        if !self.is_due {
            self.deadline.get_or_insert(now + PATIENCE);
        }
    }

    /// Whether the endpoint has to come back, in the next turn, and has not been told so.
    #[inline]
    pub fn is_to_be_noted(&mut self) -> bool {
        let is_news = self.is_owed && !self.is_noted;
        self.is_noted |= is_news;
        is_news
    }

    /// The endpoint has come back.
    #[inline]
    pub fn on_next_turn(&mut self) {
        self.is_noted = false;
        self.is_due |= std::mem::take(&mut self.is_owed);
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
        self.is_owed = false;
        self.away = Span::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_000_000);

    fn after_many() -> Acks {
        let mut acks = Acks::default();
        for _ in 0..TOGETHER {
            acks.on_taken(NOW, false);
        }
        acks
    }

    #[test]
    fn many_packets_are_acknowledged_when_the_next_are_looked_for() {
        let mut acks = after_many();
        assert!(!acks.is_due() && acks.is_to_be_noted() && !acks.is_to_be_noted());
        acks.on_next_turn();
        assert!(acks.is_due() && !acks.is_to_be_noted());
    }

    #[test]
    fn what_the_program_has_sent_took_it_along() {
        let mut acks = after_many();
        assert!(acks.is_to_be_noted());
        acks.on_sent();
        acks.on_next_turn();
        assert!(!acks.is_due() && acks.deadline().is_none());
    }

    /// As where the program sleeps before it looks again.
    #[test]
    fn time_has_them_acknowledged_as_well() {
        let mut acks = after_many();
        acks.on_time(NOW + PATIENCE);
        assert!(acks.is_due());
    }
}
