//! Where the peer is ([WIRE-12.4]).
//!
//! What comes from another address than before may mean that the peer has moved there, or that somebody plays back from
//! there what he has held back. The peer is asked at the new address, and is there once it has answered from there.

use super::Connection;
use crate::names::Path;
use crate::transmit::Transmit;
use bcl_types::Time;

/// A question whether the peer is elsewhere.
#[derive(Debug)]
pub struct Moving {
    to: Path,
    /// Number of the probe, and when it has left.
    asked: Option<(u32, Time)>,
}

impl Connection {
    /// Something that the peer has sent just now: it lives.
    #[inline]
    pub(super) fn on_fresh(&mut self, from: Path, now: Time) {
        self.liveness.on_heard(now);
        if from != self.path {
            self.on_elsewhere(from, now);
        }
    }

    #[cold]
    fn on_elsewhere(&mut self, from: Path, now: Time) {
        let patience = self.trip.timeout(0);
        let is_asked = self.moving.as_ref().is_some_and(|moving| {
            let is_recent = |(_, at)| now.since(at) < patience;
            moving.to == from && moving.asked.is_none_or(is_recent)
        });
        if !is_asked {
            self.moving = Some(Moving {
                to: from,
                asked: None,
            });
        }
    }

    /// Whether the peer is to be asked elsewhere.
    #[inline]
    pub(super) fn asks_elsewhere(&self) -> bool {
        let moving = self.moving.as_ref();
        moving.is_some_and(|moving| moving.asked.is_none())
    }

    /// The probe that asks.
    #[cold]
    pub(super) fn probe_elsewhere(&mut self, now: Time) -> Option<Transmit> {
        let moving = self.moving.as_mut()?;
        let number = self.liveness.ask(now);
        self.trip.on_reminder(now);
        moving.asked = Some((number, now));
        let path = moving.to;
        let question = self.questions.ask(now, number, self.trip.timeout(0));
        let mut transmit = self.plain(&question.packet());
        transmit.path = path;
        Some(transmit)
    }

    /// An answer to a probe of this number.
    pub(super) fn on_answer_from(&mut self, number: u32, from: Path) {
        let is_there = self.moving.as_ref().is_some_and(|moving| {
            moving.to == from && moving.asked.is_some_and(|(asked, _)| asked == number)
        });
        if is_there {
            self.moving = None;
            self.path = from;
        }
    }
}
