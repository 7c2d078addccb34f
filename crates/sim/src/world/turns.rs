//! Whatever happens at a time of its own: programs act, timers fire, the world changes.

use crate::net::{Datagram, Life as HostLife};
use crate::oracle::{Expected, Life, Seat, StreamKey, Violation};
use crate::party::{Party, Request};
use crate::{Choice, World};

use super::seat::{Pending, What, host};

/// How much a process may have before its card; a kernel bounds it alike.
const SEND_BUFFER_BYTES: u64 = 64 << 10;

/// How often the world looks whether somebody waits in vain.
const LOOK_AGAIN_NS: u64 = 500_000_000;

/// How often a process that has closed its port looks whether all peers know.
const GOOD_BYE_NS: u64 = 10_000_000;

/// What a process may hold, whoever talks to it, and for each peer that does.
const HELD_BYTES: usize = 8 << 20;
const HELD_BYTES_A_PEER: usize = 1 << 20;

/// The longest system message.
const SYSTEM_BYTES: u64 = 8 << 10;

/// The longest unreliable message: one packet.
const UNRELIABLE_BYTES: u64 = 1_000;

/// Something that happens at a time. What belongs to a process is void when that process is no more.
#[derive(Debug, Clone)]
pub(super) enum Turn {
    /// The program does what it wants next.
    Program(Seat, Life),
    /// The protocol wanted to be called now.
    Timer(Seat, Life),
    /// The card takes more.
    Flush(Seat, Life),
    /// The program gives a waiting message its buffer.
    Accept(Seat, Life, u64, usize),
    /// The program is done with a system message.
    Release(Seat, Life, u64),
    /// The program looks what it was told.
    Wake(Seat, Life),
    /// A process that has closed its port ends.
    End(Seat, Life),
    /// Something befalls the world: by its number in the plan.
    Upset(usize),
    /// The stranger does something.
    Stranger,
    /// Does anybody wait in vain?
    Look,
}

impl<P: Party> World<P> {
    pub(super) fn plan_first_turns(&mut self) {
        for (index, (at_ns, _)) in self.plan.upsets.iter().enumerate() {
            self.schedule.add(*at_ns, Turn::Upset(index));
        }
        if self.stranger.is_some() {
            self.net.record(256);
            self.schedule.add(0, Turn::Stranger);
        }
        self.schedule.add(LOOK_AGAIN_NS, Turn::Look);
    }

    pub(super) fn turn(&mut self, turn: Turn) -> Result<(), Violation> {
        match turn {
            Turn::Upset(index) => return self.upset(index),
            Turn::Stranger => {
                self.strange();
                return Ok(());
            }
            Turn::Look => return self.look(),
            _ => {}
        }
        let Some(seat) = self.runs(&turn) else {
            return Ok(());
        };
        let now_ns = self.now_ns;
        let state = &mut self.seats[seat];
        let Some(party) = state.party.as_mut() else {
            return Ok(());
        };
        match turn {
            Turn::Program(..) => self.program(seat),
            Turn::Timer(..) => {
                state.timer_ns = None;
                if party.next_timeout_ns().is_some_and(|at_ns| at_ns <= now_ns) {
                    party.on_timeout(now_ns);
                }
            }
            Turn::Flush(..) => state.will_flush = false,
            Turn::Wake(..) => {}
            Turn::Accept(_, _, message, capacity_bytes) => {
                if state.arriving.contains_key(&message) {
                    party.accept(now_ns, message, capacity_bytes);
                }
            }
            Turn::Release(_, _, message) => party.release(now_ns, message),
            Turn::End(..) => return self.say_good_bye(seat),
            Turn::Upset(_) | Turn::Stranger | Turn::Look => {}
        }
        self.drive(seat)
    }

    /// The network hands a process a datagram.
    pub(super) fn handle(&mut self, seat: Seat, mut datagram: Datagram) -> Result<(), Violation> {
        if let Some(party) = self.seats[seat].party.as_mut() {
            party.handle(self.now_ns, datagram.from, &mut datagram.bytes);
        }
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
        while let Some(news) = self.seats[seat].party.as_mut().and_then(P::news) {
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
            let turn = Turn::Wake(seat, state.life);
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
                self.schedule.add(free_ns, Turn::Flush(seat, state.life));
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
        self.net.send(now_ns, host(seat), state.address, to, &bytes);
        true
    }

    fn set_timer(&mut self, seat: Seat) {
        let state = &mut self.seats[seat];
        let Some(wanted_ns) = state.party.as_ref().and_then(P::next_timeout_ns) else {
            return;
        };
        let wanted_ns = wanted_ns.max(self.now_ns);
        if state.timer_ns.is_none_or(|set_ns| wanted_ns < set_ns) {
            state.timer_ns = Some(wanted_ns);
            self.schedule.add(wanted_ns, Turn::Timer(seat, state.life));
        }
    }

    /// The seat of a turn whose process is there and runs; the turns of a stopped one wait.
    fn runs(&mut self, turn: &Turn) -> Option<Seat> {
        let (seat, life) = match *turn {
            Turn::Program(seat, life)
            | Turn::Timer(seat, life)
            | Turn::Flush(seat, life)
            | Turn::Accept(seat, life, ..)
            | Turn::Release(seat, life, _)
            | Turn::Wake(seat, life)
            | Turn::End(seat, life) => (seat, life),
            Turn::Upset(_) | Turn::Stranger | Turn::Look => return None,
        };
        let state = &mut self.seats[seat];
        if state.life != life {
            return None;
        }
        match self.net.life(host(seat)) {
            HostLife::Running => Some(seat),
            HostLife::Stopped => {
                state.deferred.push(turn.clone());
                None
            }
            HostLife::Dead => None,
        }
    }

    /// The program of `seat` starts an operation if it may, and will be back; if it may not, as soon as one has ended.
    fn program(&mut self, seat: Seat) {
        let traffic = &self.plan.traffic;
        let (most_pending, gap_ns) = (traffic.most_pending, traffic.gap_ns);
        let state = &mut self.seats[seat];
        if state.operations_left == 0 || state.closed_ns.is_some() {
            return;
        }
        if state.ends.len() >= most_pending {
            state.waits_for_end = true;
            return;
        }
        state.operations_left -= 1;
        if state.operations_left == 0 {
            self.idle_from_ns = self.now_ns;
        }
        self.operate(seat);
        let state = &mut self.seats[seat];
        let next_ns = self.now_ns + state.random.between(1, 2 * gap_ns);
        let life = state.life;
        self.schedule.add(next_ns, Turn::Program(seat, life));
    }

    /// Starts one operation.
    fn operate(&mut self, seat: Seat) {
        let to = self.draw_peer(seat);
        let state = &mut self.seats[seat];
        let chance = state.random.next_u64();
        let op = state.ends.next();
        let choice = self.plan.traffic.mix.draw(&mut state.random);
        match choice {
            Choice::System => self.send(seat, to, 0, true, SYSTEM_BYTES),
            Choice::Unreliable => self.send(seat, to, 0, false, UNRELIABLE_BYTES),
            Choice::Normal => {
                let channel = 1 + (chance % u64::from(self.plan.traffic.channels)) as u16;
                let longest_bytes = self.plan.traffic.longest_bytes as u64;
                self.send(seat, to, channel, true, longest_bytes);
            }
            Choice::Put => {
                let longest_bytes = self.windows.longest_put_bytes() as u64;
                let len_bytes = self.draw_len(seat, longest_bytes);
                let (offset, bytes, expected) = self.windows.put(seat, to, chance, len_bytes);
                let request = Request::Put { op, offset, bytes };
                self.access(seat, to, request, expected);
            }
            Choice::Get => {
                let (offset, len_bytes, expected) = self.windows.get(seat, to, chance);
                let request = Request::Get {
                    op,
                    offset,
                    len_bytes,
                };
                self.access(seat, to, request, expected);
            }
            Choice::Add => {
                let (offset, expected) = self.windows.add(seat, to, chance);
                self.access(seat, to, Request::Add { op, offset }, expected);
            }
            Choice::Swap if self.seats[seat].swapping.contains_key(&to) => {}
            Choice::Swap => {
                let (offset, compare, new, expected) = self.windows.swap(seat, to, chance);
                let request = Request::Swap {
                    op,
                    offset,
                    compare,
                    new,
                };
                self.seats[seat].swapping.insert(to, op);
                self.access(seat, to, request, expected);
            }
        }
    }

    fn send(&mut self, seat: Seat, to: Seat, channel: u16, reliable: bool, longest_bytes: u64) {
        let mut len_bytes = self.draw_len(seat, longest_bytes);
        if !reliable {
            // Receivers are not told which are reliable: contents have to tell.
            len_bytes = len_bytes.max(8);
        }
        let state = &self.seats[seat];
        let key = StreamKey {
            from: seat,
            life: state.life,
            to,
            channel,
            reliable,
        };
        let op = state.ends.next();
        let (number, bytes) = self.ledger.send(key, len_bytes);
        let request = match (channel, reliable) {
            (0, true) => Request::System { op, bytes },
            (0, false) => Request::Unreliable { bytes },
            _ => Request::Normal { op, channel, bytes },
        };
        if reliable {
            let what = What::Message { key, number };
            let now_ns = self.now_ns;
            self.seats[seat].ends.begin(now_ns, Pending { to, what });
        }
        self.request(seat, to, request);
    }

    fn access(&mut self, seat: Seat, to: Seat, request: Request, expected: Expected) {
        let what = What::Window(expected);
        let now_ns = self.now_ns;
        self.seats[seat].ends.begin(now_ns, Pending { to, what });
        self.request(seat, to, request);
    }

    fn request(&mut self, seat: Seat, to: Seat, request: Request) {
        self.say(|_| format!("seat {seat} asks seat {to}: {}", request.short()));
        if let Some(party) = &mut self.seats[seat].party {
            party.request(self.now_ns, to, request);
        }
    }

    fn draw_peer(&mut self, seat: Seat) -> Seat {
        if self.plan.traffic.all_to_one {
            return 0;
        }
        let other = self.seats[seat].random.index(self.plan.seats - 1);
        if other < seat { other } else { other + 1 }
    }

    /// Short lengths are as likely as long ones, and limits are likely.
    fn draw_len(&mut self, seat: Seat, longest_bytes: u64) -> usize {
        let shortest_bytes = self.plan.traffic.shortest_bytes as u64;
        let random = &mut self.seats[seat].random;
        let most = *random.pick(&[16, 100, 1_500, 8 << 10, longest_bytes, longest_bytes]);
        let most = most.min(longest_bytes).max(shortest_bytes);
        let len_bytes = match random.below(8) {
            0 => most,
            1 => shortest_bytes,
            _ => random.between(shortest_bytes, most),
        };
        len_bytes as usize
    }

    /// An operation to a process that is gone ends in time, and nobody holds too much.
    fn look(&mut self) -> Result<(), Violation> {
        self.check_patience()?;
        self.check_memory()?;
        if !self.is_over() {
            self.schedule.add(self.now_ns + LOOK_AGAIN_NS, Turn::Look);
        }
        Ok(())
    }

    fn check_memory(&self) -> Result<(), Violation> {
        for (seat, state) in self.seats.iter().enumerate() {
            let held = state.party.as_ref().map(P::held).unwrap_or_default();
            if held.connections > self.plan.seats
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
            let from_ns = began_ns.max(self.seats[to].since_ns).max(state.since_ns);
            if self.now_ns > from_ns + patience_ns {
                return Err(format!(
                    "operation {op} of seat {seat} still waits for seat {to}, which is dead for {} ms",
                    (self.now_ns - from_ns) / 1_000_000
                ));
            }
        }
        Ok(())
    }

    /// A process closes its port and will end.
    pub(super) fn close_process(&mut self, seat: Seat) -> Result<(), Violation> {
        let state = &mut self.seats[seat];
        if let Some(party) = &mut state.party {
            state.closed_ns = Some(self.now_ns);
            party.close(self.now_ns);
            let end = Turn::End(seat, state.life);
            self.schedule.add(self.now_ns + GOOD_BYE_NS, end);
        }
        self.drive(seat)
    }

    /// Ends a process that has closed its port as soon as its peers know; that takes no longer than to notice that
    /// a peer is dead.
    fn say_good_bye(&mut self, seat: Seat) -> Result<(), Violation> {
        let state = &self.seats[seat];
        if state.party.as_ref().is_none_or(P::is_drained) {
            return self.end_process(seat);
        }
        let closed_ns = state.closed_ns.unwrap_or(self.now_ns);
        if self.now_ns > closed_ns + 2 * self.plan.dead_after_ns {
            return Err(format!("seat {seat} cannot get its port closed"));
        }
        let end = Turn::End(seat, state.life);
        self.schedule.add(self.now_ns + GOOD_BYE_NS, end);
        Ok(())
    }
}
