//! What programs do: each draws its own operations.

use crate::oracle::{Expected, Seat, StreamKey, Violation};
use crate::party::{Party, Request};
use crate::{Choice, World};

use super::seat::{Pending, What};
use super::turns::{Deed, Turn};

/// The longest system message.
const SYSTEM_BYTES: u64 = 8 << 10;

/// The longest unreliable message: one packet.
const UNRELIABLE_BYTES: u64 = 1_000;

impl<P: Party> World<P> {
    /// The program of `seat` starts an operation if it may, and will be back; if it may not, as soon as one has ended.
    pub(super) fn program(&mut self, seat: Seat) -> Result<(), Violation> {
        let traffic = &self.plan.traffic;
        let (most_pending, gap_ns) = (traffic.most_pending, traffic.gap_ns);
        let state = &mut self.seats[seat];
        if state.operations_left == 0 || state.closed_ns.is_some() {
            return Ok(());
        }
        if state.ends.len() >= most_pending {
            state.waits_for_end = true;
            return Ok(());
        }
        state.operations_left -= 1;
        if state.operations_left == 0 {
            self.idle_from_ns = self.now_ns;
        }
        self.operate(seat);
        if self.plan.traffic.cancels {
            self.regret(seat)?;
        }
        let state = &mut self.seats[seat];
        let next_ns = self.now_ns + state.random.between(1, 2 * gap_ns);
        let life = state.life;
        self.schedule
            .add(next_ns, Turn::Own(seat, life, Deed::Program));
        Ok(())
    }

    /// Perhaps wants one of the messages back that are under way on normal channels.
    fn regret(&mut self, seat: Seat) -> Result<(), Violation> {
        let state = &mut self.seats[seat];
        let ledger = &self.ledger;
        let under_way = state
            .ends
            .all()
            .filter_map(|(op, pending)| match pending.what {
                What::Message { key, number } if key.channel > 0 => Some((op, key, number)),
                _ => None,
            });
        // Its program may not have heard yet that it has it back.
        let wanted = under_way.filter(|(_, key, number)| !ledger.is_canceled(*key, *number));
        let under_way: Vec<_> = wanted.collect();
        if under_way.is_empty() || state.random.one_in(2) {
            return Ok(());
        }
        let (op, key, number) = *state.random.pick(&under_way);
        let now_ns = self.now_ns;
        let party = state.party.as_mut();
        let is_back = party.is_some_and(|party| party.cancel(now_ns, key.to, op));
        state.regrets += 1;
        self.say(|_| format!("seat {seat} wants op {op} back, and has it: {is_back}"));
        if !is_back {
            return Ok(());
        }
        self.seats[seat].canceled += 1;
        self.ledger.cancel(key, number)
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
            Choice::Put | Choice::Get if self.has_its_turn(seat, to, chance) => {}
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

    /// Whether a slot has to be left alone: of what programs with tagged messages do, long operations keep no order ([ADI-8.3]).
    fn has_its_turn(&self, seat: Seat, to: Seat, chance: u64) -> bool {
        let mut under_way = self.seats[seat].ends.all();
        self.plan.one_sided
            && under_way.any(|(_, pending)| match pending.what {
                What::Window(expected) => expected.is_about_slot(to, chance),
                What::Message { .. } => false,
            })
    }

    fn access(&mut self, seat: Seat, to: Seat, request: Request, expected: Expected) {
        let what = What::Window(expected);
        let now_ns = self.now_ns;
        self.seats[seat].ends.begin(now_ns, Pending { to, what });
        self.request(seat, to, request);
    }

    fn request(&mut self, seat: Seat, to: Seat, request: Request) {
        self.say(|_| format!("seat {seat} asks seat {to}: {}", request.short()));
        self.seats[seat].stirred_ns = self.now_ns;
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
}
