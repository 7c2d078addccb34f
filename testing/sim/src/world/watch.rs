//! What has to be true of processes at any time, and when all is over.

use crate::World;
use crate::net::{Fate, Life as HostLife};
use crate::oracle::{Seat, Violation};
use crate::party::Party;

use super::seat::{SeatState, host};
use super::turns::Turn;

/// How often the world looks whether somebody waits in vain.
const LOOK_AGAIN_NS: u64 = 500_000_000;

/// In a network that loses nine of ten questions and answers one or two seconds without news are usual, and three rare.
const LONGEST_LULL_NS: u64 = 8_000_000_000;

/// What a process may hold, whoever talks to it, and for each peer that does.
const HELD_BYTES: usize = 8 << 20;
const HELD_BYTES_A_PEER: usize = 1 << 20;

/// After the last upset and the last request, everything has to be over within this many times the patience of the
/// peers, plus what slow links need.
const PATIENCE: u64 = 3;
const SLOW_LINKS_NS: u64 = 120_000_000_000;

/// A peer that has given us up while we expected nothing of it is not missed before.
const IDLE_PROBE_NS: u64 = 10_000_000_000;

impl<P: Party> World<P> {
    /// An operation to a process that is gone ends in time, and nobody holds too much.
    pub(super) fn look(&mut self) -> Result<(), Violation> {
        self.check_patience()?;
        self.check_lull()?;
        self.check_memory()?;
        if !self.is_over() {
            self.schedule.add(self.now_ns + LOOK_AGAIN_NS, Turn::Look);
        }
        Ok(())
    }

    /// Where nothing but weather keeps packets back, a program that waits is told something now and then.
    fn check_lull(&self) -> Result<(), Violation> {
        let is_left_alone = self.plan.upsets.is_empty() && self.plan.stranger_gap_ns.is_none();
        let waits = |state: &&SeatState<P>| !state.ends.is_empty();
        let stirred_ns = self
            .seats
            .iter()
            .filter(waits)
            .map(|state| state.stirred_ns);
        match stirred_ns.min() {
            Some(from_ns) if is_left_alone && self.now_ns > from_ns + LONGEST_LULL_NS => {
                Err(format!("no news for too long: {}", self.unfinished()))
            }
            _ => Ok(()),
        }
    }

    /// The program of `seat` is told something.
    pub(super) fn stir(&mut self, seat: Seat) {
        let state = &mut self.seats[seat];
        if !state.ends.is_empty() {
            self.longest_lull_ns = self.longest_lull_ns.max(self.now_ns - state.stirred_ns);
        }
        state.stirred_ns = self.now_ns;
    }

    fn check_memory(&self) -> Result<(), Violation> {
        // A connection with itself has both its ends here.
        let tagged = self.plan.tagged.as_ref();
        let to_itself = tagged.is_some_and(|traffic| traffic.to_itself);
        let most_connections = self.plan.seats + usize::from(to_itself);
        for (seat, state) in self.seats.iter().enumerate() {
            let held = state.party.as_ref().map(P::held).unwrap_or_default();
            if held.connections > most_connections
                || held.bytes > HELD_BYTES + held.connections * HELD_BYTES_A_PEER
            {
                return Err(format!("seat {seat} holds too much: {held:?}"));
            }
        }
        Ok(())
    }

    fn check_patience(&self) -> Result<(), Violation> {
        let patience_ns = 2 * self.plan.dead_after_ns;
        for (seat, state) in self.seats.iter().enumerate() {
            if self.net.life(host(seat)) != HostLife::Running {
                continue;
            }
            let is_dead = |to: Seat| self.net.life(host(to)) == HostLife::Dead;
            let waiting = state.ends.oldest(|pending| is_dead(pending.to));
            let Some((op, began_ns)) = waiting else {
                continue;
            };
            let to = state.ends.pending(op).map_or(0, |pending| pending.to);
            let held_back_ns = state.held_back_ns.get(&to).copied().unwrap_or(0);
            let from_ns = began_ns
                .max(self.seats[to].since_ns)
                .max(state.since_ns)
                .max(held_back_ns);
            if self.now_ns > from_ns + patience_ns {
                return Err(format!(
                    "operation {op} of seat {seat} still waits for seat {to}, which is dead for {} ms",
                    (self.now_ns - from_ns) / 1_000_000
                ));
            }
        }
        Ok(())
    }

    /// No waiting for ever.
    pub(super) fn check_budget(&self) -> Result<(), Violation> {
        let from_ns = self.idle_from_ns.max(self.plan.whole_from_ns());
        let until_ns = from_ns + PATIENCE * self.plan.dead_after_ns + SLOW_LINKS_NS;
        if self.now_ns > until_ns {
            return Err(format!("it is too late: {}", self.unfinished()));
        }
        Ok(())
    }

    /// When nobody wants anything any more, the network falls silent, and nothing comes late.
    pub(super) fn check_silence(&mut self) -> Result<(), Violation> {
        self.stranger = None;
        let calm_from_ns = self.now_ns + IDLE_PROBE_NS + 2 * self.plan.dead_after_ns;
        self.run_until(calm_from_ns)?;
        let sent = self.net.counters().of(Fate::Sent);
        self.run_until(calm_from_ns + self.plan.dead_after_ns)?;
        let chatter = self.net.counters().of(Fate::Sent) - sent;
        // Peers that are idle may ask each other now and then whether they are still there: a question and an answer
        // a second for each direction, and one that does not answer is asked each 50 ms ([WIRE-12.3]).
        let pairs = (self.plan.seats * (self.plan.seats - 1)) as u64;
        let questions = 1 + self.plan.dead_after_ns / 50_000_000;
        if chatter > 2 * pairs * questions {
            return Err(format!("{chatter} packets were sent though all was over"));
        }
        Ok(())
    }

    /// Memory comes back: nothing is kept of what is over.
    pub(super) fn check_nothing_is_held(&self) -> Result<(), Violation> {
        for (seat, state) in self.seats.iter().enumerate() {
            let held = state.party.as_ref().map(P::held).unwrap_or_default();
            if held.waiting > 0 || held.buffered_bytes > 0 {
                return Err(format!("all is over, but seat {seat} holds {held:?}"));
            }
        }
        Ok(())
    }
}
