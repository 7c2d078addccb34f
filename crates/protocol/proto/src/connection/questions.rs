//! What a peer is asked, and what that tells it of its answers ([WIRE-2.10]).

use bcl_wire::serial::before;
use bcl_wire::{Flags, Header, Kind};

use super::packet::Packet;
use bcl_types::{Span, Time};

/// What a probe says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    pub number: u32,
    /// The first of those that were not answered, if its answer would have come by now.
    pub first: Option<u32>,
    /// The latest without such a `first` whose answer was heard; 0 for none.
    pub heard: u32,
}

impl Question {
    pub fn packet(&self) -> Packet {
        let mut probe = Packet::new(Kind::Probe);
        probe.message = self.number;
        probe.offset = self.heard.into();
        if let Some(first) = self.first {
            probe.flags |= Flags::RETRANSMIT;
            probe.length = first.into();
        }
        probe
    }

    pub fn of(probe: &Header) -> Self {
        let asks_again = probe.flags.contains(Flags::RETRANSMIT);
        Self {
            number: probe.message,
            first: asks_again.then_some(probe.length as u32),
            heard: probe.offset as u32,
        }
    }
}

/// The probes of a connection since the last that was answered.
#[derive(Debug, Clone, Default)]
pub struct Questions {
    /// Number of the first, and when it left.
    first: Option<(u32, Time)>,
    /// The first that asked again.
    again_from: Option<u32>,
    latest: u32,
    heard: u32,
}

impl Questions {
    /// A probe leaves now; an answer to an earlier one would take `patience` at most.
    pub fn ask(&mut self, now: Time, number: u32, patience: Span) -> Question {
        let (first, since) = *self.first.get_or_insert((number, now));
        let asks_again = number != first && now.since(since) >= patience;
        if asks_again {
            self.again_from.get_or_insert(number);
        }
        self.latest = number;
        Question {
            number,
            first: asks_again.then_some(first),
            heard: self.heard,
        }
    }

    pub fn on_answer(&mut self, number: u32) {
        let is_open = |first| !before(number, first) && !before(self.latest, number);
        if self.first.is_some_and(|(first, _)| is_open(first)) {
            if self.again_from.is_none_or(|again| before(number, again)) {
                self.heard = number;
            }
            (self.first, self.again_from) = (None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_asked_again_when_an_answer_would_have_come() {
        let mut questions = Questions::default();
        let mut number = 0;
        let mut ask = |questions: &mut Questions, at_ms: u64| {
            number += 1;
            let question = questions.ask(Time(at_ms * 1_000_000), number, Span::from_ms(2));
            (question.first, question.heard)
        };
        assert_eq!([10, 11].map(|ms| ask(&mut questions, ms)), [(None, 0); 2]);
        assert_eq!(
            [12, 13].map(|ms| ask(&mut questions, ms)),
            [(Some(1), 0); 2]
        );
        questions.on_answer(3);
        assert_eq!(ask(&mut questions, 14), (None, 0), "3 did ask again");
        questions.on_answer(4);
        assert_eq!(ask(&mut questions, 99), (Some(5), 0), "4 was settled");
        questions.on_answer(5);
        questions.on_answer(6);
        assert_eq!(ask(&mut questions, 100), (None, 5));
    }

    #[test]
    fn a_question_is_read_as_it_was_written() {
        for first in [None, Some(u32::MAX)] {
            let question = Question {
                number: 7,
                first,
                heard: 5,
            };
            assert_eq!(Question::of(&question.packet().header()), question);
        }
    }
}
