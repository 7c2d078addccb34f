//! Whether the peer is still there ([WIRE-12]).

use crate::config::Config;
use crate::time::{Span, Time};

/// A peer that owes an answer is asked after this silence.
const ASK_AFTER: Span = Span::from_ms(1_000);
/// And then this often, since some of what is asked and answered may be lost.
const ASK_AGAIN: Span = Span::from_ms(50);
/// A peer of which the network says that nobody listens there is given up after this silence, if not earlier.
const SUSPECT_DEAD_AFTER: Span = Span::from_ms(250);

/// When the peer was heard last, and what it owes.
#[derive(Debug, Clone, Default)]
pub struct Liveness {
    /// When something came that only the peer, and only now, could have sent.
    heard_at: Time,
    asked_at: Time,
    owes_since: Option<Time>,
    suspect_since: Option<Time>,
    /// Number of our latest probe, and whether it waits for an answer.
    number: u32,
    is_asking: bool,
    /// Number of the peer's latest probe.
    seen: u32,
}

/// What the silence calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Fine,
    Ask,
    Dead(Span),
}

impl Liveness {
    pub fn new(now: Time) -> Self {
        Self {
            heard_at: now,
            asked_at: now,
            ..Self::default()
        }
    }

    #[inline]
    pub fn on_heard(&mut self, now: Time) {
        self.heard_at = now;
        self.suspect_since = None;
        self.is_asking = false;
    }

    /// The network says that nobody listens.
    pub fn on_suspicion(&mut self, now: Time) {
        self.suspect_since.get_or_insert(now);
    }

    /// Keeps note of since when the peer owes an answer.
    #[inline]
    pub fn owes(&mut self, now: Time, owes: bool) {
        match (
            owes || self.is_asking || self.suspect_since.is_some(),
            self.owes_since,
        ) {
            (true, None) => self.owes_since = Some(now),
            (false, Some(_)) => self.owes_since = None,
            _ => {}
        }
    }

    pub fn deadline(&self, config: &Config) -> Time {
        match self.owes_since {
            None => self.heard_at.max(self.asked_at) + config.idle_probe_after,
            Some(since) => self.dead_at(since, config).min(self.ask_at(since, config)),
        }
    }

    fn dead_at(&self, since: Time, config: &Config) -> Time {
        let silent_at = self.heard_at.max(since);
        let dead_at = silent_at + config.dead_after;
        match self.suspect_since {
            None => dead_at,
            Some(suspect) => dead_at.min(suspect + SUSPECT_DEAD_AFTER),
        }
    }

    fn ask_at(&self, since: Time, config: &Config) -> Time {
        let silent_at = self.heard_at.max(since);
        if self.asked_at > silent_at || self.suspect_since.is_some() {
            self.asked_at.max(silent_at) + ASK_AGAIN
        } else {
            silent_at + ASK_AFTER.min(config.dead_after.part(3))
        }
    }

    pub fn verdict(&self, now: Time, config: &Config) -> Verdict {
        if self.deadline(config) > now {
            return Verdict::Fine;
        }
        match self.owes_since {
            Some(since) if self.dead_at(since, config) <= now => {
                Verdict::Dead(now.since(self.heard_at))
            }
            _ => Verdict::Ask,
        }
    }

    /// Number for a probe that leaves now.
    pub fn ask(&mut self, now: Time) -> u32 {
        self.asked_at = now;
        self.is_asking = true;
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// Number for a probe that is about length: it leaves with one that asks, and whose number comes after.
    pub fn number_aside(&mut self) -> u32 {
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// An answer; true if it is to our latest probe.
    pub fn on_answer(&mut self, number: u32) -> bool {
        let is_ours = self.is_asking && number == self.number;
        if is_ours {
            self.is_asking = false;
        }
        is_ours
    }

    /// A probe of the peer; true if it is no replay.
    pub fn on_probe(&mut self, number: u32) -> bool {
        let is_new = bcl_wire::serial::before(self.seen, number);
        if is_new {
            self.seen = number;
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcl_types::{Address, NodeId};

    fn config() -> Config {
        let node = NodeId::LOOPBACK;
        Config::new(Address { node, port: 1 }, 1, [1, 2])
    }

    const fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn a_peer_that_owes_is_asked_and_given_up() {
        let config = config();
        let mut liveness = Liveness::new(at(0));
        liveness.owes(at(100_000), false);
        liveness.owes(at(5_000), true);
        assert_eq!(liveness.verdict(at(5_999), &config), Verdict::Fine);
        assert_eq!(liveness.verdict(at(6_000), &config), Verdict::Ask);
        liveness.ask(at(6_000));
        assert_eq!(liveness.verdict(at(6_001), &config), Verdict::Fine);
        assert!(matches!(
            liveness.verdict(at(8_000), &config),
            Verdict::Dead(_)
        ));
        liveness.on_heard(at(7_900));
        assert_eq!(liveness.verdict(at(8_000), &config), Verdict::Fine);
    }

    #[test]
    fn a_suspect_is_given_up_soon_unless_it_is_heard() {
        let config = config();
        let mut liveness = Liveness::new(at(0));
        liveness.on_suspicion(at(10));
        liveness.owes(at(10), false);
        assert!(matches!(
            liveness.verdict(at(260), &config),
            Verdict::Dead(_)
        ));
        liveness.on_heard(at(20));
        liveness.owes(at(20), false);
        assert_eq!(liveness.verdict(at(260), &config), Verdict::Fine);
    }

    #[test]
    fn replayed_probes_are_seen_through() {
        let mut liveness = Liveness::new(at(0));
        assert!(liveness.on_probe(1) && liveness.on_probe(3));
        assert!(!liveness.on_probe(3) && !liveness.on_probe(2));
        let number = liveness.ask(at(1));
        assert!(!liveness.on_answer(number + 1) && liveness.on_answer(number));
        assert!(!liveness.on_answer(number));
    }
}
