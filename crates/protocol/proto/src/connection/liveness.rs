//! Whether the peer is still there ([WIRE-12]).

use bcl_wire::serial::before;

use crate::config::Config;
use bcl_types::{Span, Time};

/// A peer that owes an answer is asked after this silence.
const ASK_AFTER: Span = Span::from_ms(1_000);
/// And then this often, since some of what is asked and answered may be lost.
const ASK_AGAIN: Span = Span::from_ms(50);
/// A peer of which the network says that nobody listens there is given up after this silence, if not earlier.
const SUSPECT_DEAD_AFTER: Span = Span::from_ms(250);
/// And after this once it has returned the probe, which a peer that is there has answered by then.
const RETURNED_DEAD_AFTER: Span = Span::from_ms(5);
/// Likewise where an agent is that may know more, and is about to say so.
const TOLD_WITHIN: Span = Span::from_ms(15);

/// When the peer was heard last, and what it owes.
#[derive(Debug, Clone, Default)]
pub struct Liveness {
    /// When something came that only the peer, and only now, could have sent.
    heard_at: Time,
    asked_at: Time,
    owes_since: Option<Time>,
    suspicion: Option<Suspicion>,
    /// Number of our latest probe, and whether it waits for an answer.
    number: u32,
    is_asking: bool,
    /// The last probe before those that wait for an answer.
    answered: u32,
    /// Number of the peer's latest probe.
    seen: u32,
}

/// The network says that nobody listens there, and the peer has not been heard since.
#[derive(Debug, Clone, Copy)]
struct Suspicion {
    dead_at: Time,
    /// The network has returned a probe: who says it is on the way to the peer, or its host.
    is_founded: bool,
}

/// What the silence calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Fine,
    Ask,
    /// Nothing was heard for so long.
    Silent(Span),
    /// The same, and its host says that nobody listens there any more.
    Vanished,
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
        self.suspicion = None;
        self.is_asking = false;
    }

    /// The network says that nobody listens. True if that is news: the peer is to be asked.
    ///
    /// Hosts send few such words, six and then one a second, so one probe must do.
    pub fn on_suspicion(&mut self, now: Time) -> bool {
        let is_news = self.suspicion.is_none();
        self.suspicion.get_or_insert(Suspicion {
            dead_at: now + SUSPECT_DEAD_AFTER,
            is_founded: false,
        });
        is_news
    }

    /// With that word came back the probe of this number, which only who has seen it could return. An answer that is
    /// under way arrives within `round_trip`; the word of an `agent`, if there is one, later.
    pub fn on_returned(&mut self, now: Time, number: u32, round_trip: Span, has_agent: bool) {
        if let Some(suspicion) = &mut self.suspicion
            && self.is_asking
            && number == self.number
        {
            let least = match has_agent {
                true => TOLD_WITHIN,
                false => RETURNED_DEAD_AFTER,
            };
            let dead_at = now + least.max(round_trip);
            suspicion.dead_at = suspicion.dead_at.min(dead_at);
            suspicion.is_founded = true;
        }
    }

    /// Keeps note of since when the peer owes an answer.
    #[inline]
    pub fn owes(&mut self, now: Time, owes: bool) {
        match (
            owes || self.is_asking || self.suspicion.is_some(),
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
        match self.suspicion {
            None => dead_at,
            Some(suspicion) => dead_at.min(suspicion.dead_at),
        }
    }

    fn ask_at(&self, since: Time, config: &Config) -> Time {
        let silent_at = self.heard_at.max(since);
        if self.asked_at > silent_at || self.suspicion.is_some() {
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
            Some(since) if self.dead_at(since, config) <= now => match self.suspicion {
                Some(suspicion) if suspicion.is_founded => Verdict::Vanished,
                _ => Verdict::Silent(now.since(self.heard_at)),
            },
            _ => Verdict::Ask,
        }
    }

    /// Number for a probe that leaves now.
    pub fn ask(&mut self, now: Time) -> u32 {
        self.asked_at = now;
        if !std::mem::replace(&mut self.is_asking, true) {
            self.answered = self.number;
        }
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// Number for a probe that is about length: it leaves with one that asks, and whose number comes after.
    pub fn number_aside(&mut self) -> u32 {
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// An answer; true if it is to a probe that has left since the peer was heard last. Not only to the latest: a round trip may
    /// take longer than the time from one to the next.
    pub fn on_answer(&mut self, number: u32) -> bool {
        let was_asked = before(self.answered, number) && !before(self.number, number);
        let is_ours = self.is_asking && was_asked;
        if is_ours {
            self.is_asking = false;
        }
        is_ours
    }

    /// A probe of the peer; true if it is no replay.
    pub fn on_probe(&mut self, number: u32) -> bool {
        let is_new = before(self.seen, number);
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
            Verdict::Silent(_)
        ));
        liveness.on_heard(at(7_900));
        assert_eq!(liveness.verdict(at(8_000), &config), Verdict::Fine);
    }

    #[test]
    fn a_suspect_is_given_up_soon_unless_it_is_heard() {
        let config = config();
        let mut liveness = Liveness::new(at(0));
        assert!(liveness.on_suspicion(at(10)) && !liveness.on_suspicion(at(11)));
        liveness.owes(at(10), false);
        assert!(matches!(
            liveness.verdict(at(260), &config),
            Verdict::Silent(_)
        ));
        liveness.on_heard(at(20));
        liveness.owes(at(20), false);
        assert_eq!(liveness.verdict(at(260), &config), Verdict::Fine);
    }

    #[test]
    fn a_suspect_whose_probe_comes_back_is_given_up_sooner() {
        let config = config();
        let mut liveness = Liveness::new(at(0));
        liveness.on_suspicion(at(10));
        liveness.owes(at(10), false);
        let number = liveness.ask(at(10));
        liveness.on_returned(at(11), number - 1, Span::ZERO, false);
        assert_eq!(liveness.verdict(at(16), &config), Verdict::Fine);
        liveness.on_returned(at(11), number, Span::ZERO, false);
        assert_eq!(liveness.verdict(at(15), &config), Verdict::Fine);
        assert_eq!(liveness.verdict(at(16), &config), Verdict::Vanished);
        let mut attended = liveness.clone();
        attended.suspicion = None;
        attended.on_suspicion(at(10));
        attended.on_returned(at(11), number, Span::ZERO, true);
        assert_eq!(attended.verdict(at(25), &config), Verdict::Fine);
        assert_eq!(attended.verdict(at(26), &config), Verdict::Vanished);
        let mut distant = liveness.clone();
        distant.suspicion = None;
        distant.on_suspicion(at(10));
        distant.on_returned(at(11), number, Span::from_ms(30), false);
        assert_eq!(distant.verdict(at(40), &config), Verdict::Fine);
        assert_eq!(distant.verdict(at(41), &config), Verdict::Vanished);
        liveness.on_heard(at(15));
        liveness.owes(at(15), false);
        liveness.on_returned(at(16), number, Span::ZERO, false);
        assert_eq!(liveness.verdict(at(300), &config), Verdict::Fine);
    }

    /// WIRE-12.1: on a way that is longer than the time between probes no answer is ever to the latest.
    #[test]
    fn an_answer_to_any_probe_of_this_silence_counts_once() {
        let mut liveness = Liveness::new(at(0));
        let old = liveness.ask(at(1));
        liveness.on_heard(at(2));
        assert!(!liveness.on_answer(old), "nobody has asked since");
        let (first, _, last) = (
            liveness.ask(at(3)),
            liveness.ask(at(4)),
            liveness.ask(at(5)),
        );
        assert!(!liveness.on_answer(old) && liveness.on_answer(first));
        assert!(!liveness.on_answer(first));
        liveness.ask(at(6));
        assert!(
            !liveness.on_answer(last),
            "it was asked before the peer was heard"
        );
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
