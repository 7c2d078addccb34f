//! Whether peers hear what the interface program answers ([MCP-6.4]).
//!
//! Some drivers lose what a program at the interface sends back, without a word, and no table of drivers is complete. The
//! process has a way of its own, its socket: it answers what a peer asks in vain, and sees whether peers always need that.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bcl_wire::serial::before;

use super::absence::Absence;
use super::questions::Question;
use bcl_types::{Span, Time};

/// So many questions asked again, without one answer that was heard, are no accident.
const TIMES: u8 = 5;
/// Hosts that are remembered; of more, the oldest are found out again.
const HOSTS_MAX: usize = 256;

/// What the peer's questions say about the answers that it has been given.
#[derive(Debug, Default)]
pub struct Unheard {
    /// The latest question.
    number: u32,
    /// The latest answer of the interface program of which the peer has said that it heard it.
    heard: u32,
    /// How often, since, it has asked again what that had answered, and has had an answer of the process.
    times: u8,
    /// That it has asked again, and what comes now is the same still.
    is_counted: bool,
}

impl Unheard {
    /// The interface program has answered a question that the peer had not asked before.
    pub fn on_question(&mut self, question: Question) {
        // Those that are about length say nothing of that.
        if before(self.heard, question.heard) {
            self.heard = question.heard;
            self.times = 0;
        }
        // What came here before was answered as well, if it is one of those that the peer speaks of.
        let was_answered = |first| !before(self.number, first);
        let was_unheard = question.first.is_some_and(was_answered);
        self.number = question.number;
        if was_unheard && !self.is_counted {
            self.times = self.times.saturating_add(1);
        }
        self.is_counted = was_unheard;
    }

    /// Whether no answer arrives there.
    pub fn is_proven(&self) -> bool {
        self.times >= TIMES
    }
}

/// Hosts whose processes do not hear it.
#[derive(Debug, Default)]
pub struct DeafHosts {
    hosts: BTreeMap<IpAddr, Absence>,
}

impl DeafHosts {
    const FIRST_ABSENCE: Span = Span::from_ms(64_000);
    const LAST_ABSENCE: Span = Span::from_ms(64 * 64_000);

    /// A connection with a process there was found out. Until when none is entered.
    pub fn add(&mut self, now: Time, host: IpAddr) -> Time {
        if let Some(until) = self.until(now, host) {
            return until;
        }
        if self.hosts.len() >= HOSTS_MAX && !self.hosts.contains_key(&host) {
            let ends = |(_, absence): &(&IpAddr, &Absence)| absence.until();
            let first = self.hosts.iter().min_by_key(ends).map(|(host, _)| *host);
            first.and_then(|first| self.hosts.remove(&first));
        }
        let absence = self.hosts.entry(host).or_default();
        absence.begin(now, Self::FIRST_ABSENCE, Self::LAST_ABSENCE)
    }

    /// Until when no connection with a process there is entered, if that is not over.
    pub fn until(&self, now: Time, host: IpAddr) -> Option<Time> {
        let until = self.hosts.get(&host)?.until()?;
        (until > now).then_some(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(unheard: &mut Unheard, first: Option<u32>) {
        unheard.on_question(Question {
            number: unheard.number + 1,
            first,
            heard: unheard.heard,
        });
    }

    /// The peer asks, and asks again, so many times; whether that is enough.
    fn after(unheard: &mut Unheard, times: u32) -> bool {
        for _ in 0..times {
            ask(unheard, None);
            let first = unheard.number;
            ask(unheard, Some(first));
        }
        unheard.is_proven()
    }

    #[test]
    fn five_times_are_enough() {
        let mut unheard = Unheard::default();
        assert!(!after(&mut unheard, 4) && after(&mut unheard, 1));
    }

    #[test]
    fn an_answer_that_was_heard_begins_anew() {
        let mut unheard = Unheard::default();
        assert!(!after(&mut unheard, 4));
        unheard.on_question(Question {
            number: 101,
            first: None,
            heard: 100,
        });
        assert!(!after(&mut unheard, 4) && after(&mut unheard, 1));
    }

    /// However often it asks without an answer, it is once; and a question that was lost was not answered.
    #[test]
    fn what_is_not_answered_by_anybody_proves_little() {
        let mut unheard = Unheard::default();
        ask(&mut unheard, None);
        for _ in 0..100 {
            ask(&mut unheard, Some(1));
        }
        assert!(!unheard.is_proven());
        for _ in 0..100 {
            let lost = unheard.number + 1;
            unheard.number = lost;
            ask(&mut unheard, Some(lost + 1));
        }
        assert!(!unheard.is_proven());
    }

    #[test]
    fn hosts_are_forgotten_and_no_more_are_kept_than_there_is_room_for() {
        let host = |number: u32| IpAddr::from(number.to_be_bytes());
        let (mut hosts, second) = (DeafHosts::default(), 1_000_000_000);
        assert_eq!(hosts.until(Time(0), host(1)), None);
        assert_eq!(hosts.add(Time(0), host(1)), Time(64 * second));
        assert!(hosts.until(Time(63 * second), host(1)).is_some());
        assert!(hosts.until(Time(64 * second), host(1)).is_none());
        assert_eq!(hosts.add(Time(second), host(1)), Time(64 * second));
        let twice_as_long = Time(228 * second);
        assert_eq!(hosts.add(Time(100 * second), host(1)), twice_as_long);
        for number in 2..=300 {
            hosts.add(Time(second), host(number));
        }
        assert_eq!(hosts.hosts.len(), HOSTS_MAX);
        assert!(hosts.until(Time(227 * second), host(1)).is_some());
    }
}
