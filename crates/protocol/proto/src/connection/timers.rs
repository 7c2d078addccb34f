//! What is due without anything having come.

use bcl_types::{Cause, OpError};
use bcl_wire::{Answerer, Kind};

use super::liveness::Verdict;
use super::recovery::{Due, Recovery};
use super::{Connection, End, Stage};
use crate::common::Context;
use crate::rma::asked::Patience;
use crate::upcalls::Upcalls;
use bcl_types::{Span, Time};

/// When nothing is due.
const FAR_OFF: Span = Span::from_ms(10_000);

impl Connection {
    /// When [`on_time`](Self::on_time) has something to do.
    pub fn deadline(&mut self, now: Time, config: &crate::config::Config) -> Time {
        match &self.stage {
            Stage::Greeting(attempt) => return attempt.deadline(config),
            Stage::Confirming(greeting) => {
                let at = greeting.attempt.deadline(config);
                return self.data_deadline(now).map_or(at, |data| data.min(at));
            }
            // The program is waited for, not the peer.
            Stage::Up if self.departed.is_some() => {
                return self.acks.deadline().unwrap_or(now + FAR_OFF);
            }
            Stage::Up => {}
        }
        if let Some(at) = self.death_at() {
            return at;
        }
        let owes = self.owes();
        self.liveness.owes(now, owes);
        let mut at = self.liveness.deadline(config).min(self.mtu.deadline());
        if let Some(data) = self.data_deadline(now) {
            at = at.min(data);
        }
        if let Some(doubt) = &self.doubt {
            at = at.min(doubt.attempt.deadline(config));
        }
        at
    }

    fn data_deadline(&self, now: Time) -> Option<Time> {
        [
            self.acks.deadline(),
            self.recovery.deadline(&self.flights, &self.trip),
            self.release_at(now).filter(|at| *at > now),
            self.requester.deadline(self.patience()),
            self.tell_at,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// How long answers may take ([WIRE-11.5]).
    fn patience(&self) -> Patience {
        let twice = self.trip.smoothed().unwrap_or(Span::from_ms(1)).times(2);
        Patience {
            answer: twice.max(self.trip.timeout(0)),
            rest: twice,
            overtaken: Recovery::reordering(&self.trip),
        }
    }

    /// Time has passed.
    pub fn on_time<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) -> Result<(), End> {
        let (now, config) = (cx.now, &cx.common.config);
        match &self.stage {
            Stage::Greeting(attempt) if attempt.is_over(now, config) => {
                return Err(End::Failed(OpError::Unreachable));
            }
            Stage::Confirming(greeting) if greeting.attempt.is_over(now, config) => {
                return Err(End::Failed(OpError::Unreachable));
            }
            Stage::Greeting(_) => return Ok(()),
            _ => {}
        }
        if self.departed.is_some() {
            self.acks.on_time(now);
            return Ok(());
        }
        if self.death.is_some() {
            return match self.died(now) {
                Some(cause) => self.on_departed(cause, cx),
                None => Ok(()),
            };
        }
        if self.is_up() {
            match self.liveness.verdict(now, config) {
                Verdict::Fine => {}
                Verdict::Ask => {
                    self.has_question = true;
                    self.rest();
                }
                Verdict::Silent(silence) => {
                    return Err(End::Gone(Cause::Silent(silence.as_ms())));
                }
                Verdict::Vanished => return Err(End::Gone(Cause::Vanished)),
            }
        }
        if self
            .doubt
            .as_ref()
            .is_some_and(|doubt| doubt.attempt.is_over(now, config))
        {
            self.doubt = None;
        }
        self.acks.on_time(now);
        self.tell_again(now);
        self.on_sounding_time(cx);
        match self.recovery.due(now, &self.flights, &self.trip) {
            None => {}
            Some(Due::Reordering) => self.find_lost(now),
            Some(Due::TailProbe | Due::Timeout) if self.flights.doubt() => {}
            Some(Due::TailProbe) => self.has_tail_probe = true,
            Some(Due::Timeout) => {
                self.traffic.timeouts += 1;
                let lost = self.flights.lose_all();
                self.congestion.on_timeout(now);
                self.suspect_length(lost.longest);
                // What leaves now may be lost as well: an answer to either shows that the peer lives.
                self.has_question = true;
            }
        }
        let lost = self
            .requester
            .find_unanswered(now, self.patience(), &self.flights);
        if lost > 0 {
            self.congestion.on_lost(now, lost, self.trip.smoothed());
        }
        Ok(())
    }

    /// The network says that nobody listens there, and returns the packet that it could not deliver, if that was
    /// short.
    pub fn on_unreachable(&mut self, now: Time, returned: Option<&[u8]>) -> Result<(), End> {
        match self.stage {
            Stage::Greeting(_) | Stage::Confirming(_) => Err(End::Failed(OpError::NoPort)),
            Stage::Up => {
                self.has_question |= self.liveness.on_suspicion(now);
                if let Some(number) = returned.and_then(|packet| self.own_probe(packet)) {
                    let round_trip = self.trip.smoothed().unwrap_or(Span::ZERO);
                    let has_agent = self.possible_answerer() != Answerer::Program;
                    self.liveness
                        .on_returned(now, number, round_trip.times(2), has_agent);
                }
                Ok(())
            }
        }
    }

    /// Number of a probe, if this is one of ours.
    fn own_probe(&self, packet: &[u8]) -> Option<u32> {
        let (header, _) = bcl_wire::parse(packet).ok()?;
        let is_ours =
            header.kind == Kind::Probe && bcl_wire::verify(packet, &self.job, &self.keys.ours);
        is_ours.then_some(header.message)
    }
}
