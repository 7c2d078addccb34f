//! A process and its card: packets in, packets out, timers, and its end.

use crate::World;
use crate::net::{Datagram, Life as HostLife};
use crate::oracle::{Seat, Violation};
use crate::party::{Interception, Party};

use super::seat::host;
use super::turns::{Deed, Turn};

/// How much a process may have before its card; a kernel bounds it alike.
const SEND_BUFFER_BYTES: u64 = 64 << 10;

/// When a process looks again at what it had no room for.
const NO_ROOM_NS: u64 = 100_000;

/// How often a process that has closed its port looks whether all peers know.
const GOOD_BYE_NS: u64 = 10_000_000;

impl<P: Party> World<P> {
    /// The network hands a process a datagram.
    pub(super) fn handle(&mut self, seat: Seat, mut datagram: Datagram) -> Result<(), Violation> {
        if let Some(party) = self.seats[seat].party.as_mut() {
            party.handle(self.now_ns, datagram.from, &mut datagram.bytes);
        }
        self.drive(seat)
    }

    /// A datagram has come to a host that has something in front of its socket.
    pub(super) fn intercept(&mut self, seat: Seat, datagram: Datagram) {
        let (now_ns, state) = (self.now_ns, &mut self.seats[seat]);
        let interception = match &mut state.party {
            Some(party) => party.intercept(now_ns, datagram.from, &datagram.bytes),
            None => Interception::Pass,
        };
        match interception {
            Interception::Pass => self.net.receive(now_ns, host(seat), datagram),
            Interception::Taken(reply) => {
                if let Some(bytes) = reply {
                    let reply = Datagram::new(datagram.to, datagram.from, bytes);
                    self.net.send(now_ns, host(seat), reply);
                }
                self.plan_record(seat, 0);
            }
        }
    }

    /// Sees to it that the process looks at what was taken for it, not before so many nanoseconds.
    fn plan_record(&mut self, seat: Seat, after_ns: u64) {
        let state = &mut self.seats[seat];
        let has_records = state.party.as_mut().is_some_and(P::has_records);
        if has_records && !state.will_look {
            state.will_look = true;
            let turn = Turn::Own(seat, state.life, Deed::Record);
            self.schedule.add(self.now_ns + after_ns, turn);
        }
    }

    /// The process looks at one record, which takes it as long as a datagram does.
    pub(super) fn look_at_record(&mut self, seat: Seat) -> Result<(), Violation> {
        let (now_ns, state) = (self.now_ns, &mut self.seats[seat]);
        state.will_look = false;
        let was_taken = state
            .party
            .as_mut()
            .is_some_and(|party| party.handle_record(now_ns));
        let per_record_ns = self.plan.host.per_datagram_ns;
        self.plan_record(seat, if was_taken { per_record_ns } else { NO_ROOM_NS });
        self.drive(seat)
    }

    /// Takes out of a process what it has to say, after whatever it was told.
    pub(super) fn drive(&mut self, seat: Seat) -> Result<(), Violation> {
        if self.net.life(host(seat)) != HostLife::Running {
            return Ok(());
        }
        loop {
            let state = &self.seats[seat];
            if state.naps_until_ns <= self.now_ns && self.listen(seat)? {
                self.nap(seat);
            }
            if !self.flush(seat) {
                break;
            }
        }
        self.set_timer(seat);
        Ok(())
    }

    /// The program looks what it was told; whether there was anything.
    pub(super) fn listen(&mut self, seat: Seat) -> Result<bool, Violation> {
        let mut was_told = false;
        let now_ns = self.now_ns;
        while let Some(news) = self.seats[seat]
            .party
            .as_mut()
            .and_then(|party| party.news(now_ns))
        {
            was_told = true;
            self.hear(seat, news)?;
        }
        Ok(was_told)
    }

    /// The program computes for a while, if it is one that does.
    fn nap(&mut self, seat: Seat) {
        let longest_ns = self.plan.traffic.nap_ns;
        if longest_ns > 0 {
            let state = &mut self.seats[seat];
            state.naps_until_ns = self.now_ns + state.random.between(1, longest_ns);
            let turn = Turn::Own(seat, state.life, Deed::Wake);
            self.schedule.add(state.naps_until_ns, turn);
        }
    }

    /// Sends a packet if there is one and the card takes it; else sees to it that it is tried again.
    fn flush(&mut self, seat: Seat) -> bool {
        let (now_ns, state) = (self.now_ns, &mut self.seats[seat]);
        let free_ns = self
            .net
            .may_send_at_ns(state.address.ip(), SEND_BUFFER_BYTES);
        if free_ns > now_ns {
            if !state.will_flush {
                state.will_flush = true;
                self.schedule
                    .add(free_ns, Turn::Own(seat, state.life, Deed::Flush));
            }
            return false;
        }
        let Some((to, bytes)) = state
            .party
            .as_mut()
            .and_then(|party| party.transmit(now_ns))
        else {
            return false;
        };
        let datagram = Datagram::new(state.address, to, bytes);
        self.net.send(now_ns, host(seat), datagram);
        true
    }

    fn set_timer(&mut self, seat: Seat) {
        let state = &mut self.seats[seat];
        let Some(wanted_ns) = state.party.as_mut().and_then(P::next_timeout_ns) else {
            return;
        };
        let wanted_ns = wanted_ns.max(self.now_ns);
        if state.timer_ns.is_none_or(|set_ns| wanted_ns < set_ns) {
            state.timer_ns = Some(wanted_ns);
            self.schedule
                .add(wanted_ns, Turn::Own(seat, state.life, Deed::Timer));
        }
    }

    /// A process closes its port and will end.
    pub(super) fn close_process(&mut self, seat: Seat) -> Result<(), Violation> {
        let state = &mut self.seats[seat];
        if let Some(party) = &mut state.party {
            state.closed_ns = Some(self.now_ns);
            party.close(self.now_ns);
            let end = Turn::Own(seat, state.life, Deed::End);
            self.schedule.add(self.now_ns + GOOD_BYE_NS, end);
        }
        self.drive(seat)
    }

    /// Ends a process that has closed its port as soon as its peers know; that takes no longer than to notice that
    /// a peer is dead.
    pub(super) fn say_good_bye(&mut self, seat: Seat) -> Result<(), Violation> {
        let state = &self.seats[seat];
        if state.party.as_ref().is_none_or(P::is_drained) {
            return self.end_process(seat);
        }
        let closed_ns = state.closed_ns.unwrap_or(self.now_ns);
        if self.now_ns > closed_ns + 2 * self.plan.dead_after_ns {
            return Err(format!("seat {seat} cannot get its port closed"));
        }
        let end = Turn::Own(seat, state.life, Deed::End);
        self.schedule.add(self.now_ns + GOOD_BYE_NS, end);
        Ok(())
    }
}
