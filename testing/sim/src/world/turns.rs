//! Whatever happens at a time of its own: programs act, timers fire, the world changes.

use crate::World;
use crate::net::Life as HostLife;
use crate::oracle::{Life, Seat, Violation};
use crate::party::Party;

use super::seat::host;

/// Something that happens at a time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Turn {
    /// A process does something; void if that process is no more.
    Own(Seat, Life, Deed),
    /// Something befalls the world: by its number in the plan.
    Upset(usize),
    /// The stranger does something.
    Stranger,
    /// Does anybody wait in vain?
    Look,
}

/// Something that a process does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Deed {
    /// The program does what it wants next.
    Program,
    /// The protocol wanted to be called now.
    Timer,
    /// The card takes more.
    Flush,
    /// The program gives a waiting message its buffer.
    Accept { message: u64, capacity_bytes: usize },
    /// The program is done with a system message.
    Release { message: u64 },
    /// The process looks at what an interface program has taken for it.
    Record,
    /// The program looks what it was told.
    Wake,
    /// The process has closed its port and would like to end.
    End,
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
        self.schedule.add(0, Turn::Look);
    }

    pub(super) fn turn(&mut self, turn: Turn) -> Result<(), Violation> {
        match turn {
            Turn::Own(seat, life, deed) => self.own_turn(seat, life, deed),
            Turn::Upset(index) => self.upset(index),
            Turn::Stranger => {
                self.strange();
                Ok(())
            }
            Turn::Look => self.look(),
        }
    }

    fn own_turn(&mut self, seat: Seat, life: Life, deed: Deed) -> Result<(), Violation> {
        if self.seats[seat].life != life {
            return Ok(());
        }
        match self.net.life(host(seat)) {
            HostLife::Running => self.deed(seat, deed),
            HostLife::Stopped => {
                self.seats[seat].deferred.push(deed);
                Ok(())
            }
            HostLife::Dead => Ok(()),
        }
    }

    fn deed(&mut self, seat: Seat, deed: Deed) -> Result<(), Violation> {
        let now_ns = self.now_ns;
        let state = &mut self.seats[seat];
        let Some(party) = state.party.as_mut() else {
            return Ok(());
        };
        match deed {
            Deed::Program => self.program(seat)?,
            Deed::Timer => {
                // One that was set for later than another is void: that one has set it anew.
                if state.timer_ns.is_some_and(|at_ns| at_ns <= now_ns) {
                    state.timer_ns = None;
                    if party.next_timeout_ns().is_some_and(|at_ns| at_ns <= now_ns) {
                        party.on_timeout(now_ns);
                    }
                }
            }
            Deed::Flush => state.will_flush = false,
            Deed::Record => return self.look_at_record(seat),
            Deed::Accept {
                message,
                capacity_bytes,
            } => {
                if state.arriving.contains_key(&message) {
                    party.accept(now_ns, message, capacity_bytes);
                }
            }
            Deed::Release { message } => party.release(now_ns, message),
            Deed::Wake => {}
            Deed::End => return self.say_good_bye(seat),
        }
        self.drive(seat)
    }
}
