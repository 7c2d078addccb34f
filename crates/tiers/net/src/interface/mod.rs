//! The other source of packets: the ring in which the interface program puts what it has checked and acknowledged
//! ([MCP-6]). The socket is left with what is not the interface program's.
//!
//! [`open`] asks the agent for it; [`agent`] is what the agent is asked for later, without waiting; `state` how it tells
//! of a connection.

mod agent;
pub mod open;
mod state;

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use bcl_agent_client::Outcome;
use bcl_agent_client::message::Request;
use bcl_proto::{Endpoint, Span, Time, Told, Upcalls};
use bcl_tier::AgentMemories;
use bcl_xdp::{Control, Counters, Ring};

use agent::Errands;

/// Records that one look takes at most.
const RECORDS_MAX: usize = 64;
/// Until the socket is looked at again while all that is sent to the port comes by the ring: a system call each time would
/// cost more than the ring. What comes by it then are strangers, and what has come past the interface program.
const SOCKET_PAUSE: Span = Span::from_ms(1);

/// The interface program's side of a port.
#[derive(Debug)]
pub struct Interface {
    ring: Ring,
    control: Control,
    counters: Counters,
    errands: Errands,
    /// Who sleeps on the ring's descriptor.
    listeners: u32,
    /// The first record is one that there is no room for.
    is_stuck: bool,
    refuses_system: bool,
    refuses_early: bool,
    next_look_at_socket: Time,
}

impl Interface {
    /// Readable when there are records, if anybody [listens](Self::listen).
    pub fn ring(&self) -> BorrowedFd<'_> {
        self.ring.fd()
    }

    /// Readable when the agent has answered.
    pub fn agent(&self) -> BorrowedFd<'_> {
        self.errands.descriptor()
    }

    /// Whether a record is to tell of each long put that begins: the endpoint judges by these.
    pub fn tell_puts(&self, tell: bool) {
        self.control.tell_puts(tell);
    }

    /// Asks the agent for what the program waits for; [`next_answer`](Self::next_answer) comes with a turn.
    pub fn ask(&mut self, request: Request, patience: Duration) {
        self.errands.ask_for_program(request, patience);
    }

    /// What has become of it.
    pub fn next_answer(&mut self) -> Option<Outcome> {
        self.errands.next_answer()
    }

    /// Whether peers may be served from a window that is entered ([MCP-6.2]).
    pub fn offer(&self, window: u16, is_offered: bool) {
        self.control.offer(window, is_offered);
    }

    /// Has a window removed that is not offered, whenever there is an agent.
    pub fn leave(&mut self, window: u16) {
        self.errands.leave(window);
    }

    /// Whether a window may be entered that was left.
    pub fn is_leaving(&self, window: u16) -> bool {
        self.errands.is_leaving(window)
    }

    /// Where the buffers of the port lie that the interface program acts on.
    pub fn memories(&self) -> Arc<AgentMemories> {
        self.errands.memories()
    }

    /// Has memory freed, whenever there is an agent.
    pub fn free(&mut self, memory: u32) {
        self.errands.free(memory);
    }

    /// Where the ring ends now.
    pub fn ring_end(&self) -> u64 {
        self.ring.end()
    }

    /// Whether all has been taken that lay before this.
    pub fn ring_has_passed(&self, end: u64) -> bool {
        self.ring.has_passed(end)
    }

    /// Why a connection is not the interface program's.
    pub fn trouble(&self) -> String {
        self.errands.trouble()
    }

    /// What the interface program has counted under these names ([MCP-7.1]), together.
    pub fn counted(&self, names: &[&str]) -> u64 {
        let all = self.counters.each();
        all.filter(|(name, _)| names.contains(name))
            .map(|(_, count)| count)
            .sum()
    }

    /// From now on records wake who sleeps on the descriptor. To be said before the last look.
    pub fn listen(&mut self) {
        self.listeners += 1;
        if self.listeners == 1 {
            self.control.sleep();
        }
    }

    /// Somebody who listened does so no longer.
    pub fn stop_listening(&mut self) {
        self.listeners -= 1;
        if self.listeners == 0 {
            self.control.wake();
        }
    }

    /// Whether the first record is one that there is no room for: the descriptor stays readable, to no use.
    pub fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// When to take another turn, if nothing comes before.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        self.errands.next_timeout()
    }

    /// Whether the socket is to be looked at as well.
    #[inline]
    pub fn is_socket_due(&mut self, now: Time, endpoint: &Endpoint) -> bool {
        let is_due = endpoint.needs_socket() || self.next_look_at_socket <= now;
        if is_due {
            self.next_look_at_socket = now + SOCKET_PAUSE;
        }
        is_due
    }

    /// Gives the protocol what lies in the ring, as far as it has room. Says how many records.
    #[inline]
    pub fn receive(&mut self, now: Time, endpoint: &mut Endpoint, up: &mut impl Upcalls) -> usize {
        let mut taken = 0;
        self.is_stuck = endpoint.catch_up(now, up) == Told::NoRoom;
        while !self.is_stuck
            && taken < RECORDS_MAX
            && let Some(record) = self.ring.first()
        {
            if endpoint.handle_record(now, &record, up) == Told::NoRoom {
                self.is_stuck = true;
                break;
            }
            self.ring.release();
            taken += 1;
            self.is_stuck = endpoint.has_overdue();
        }
        taken
    }

    /// Does what the protocol asks of the agent and the control page. After everything that was received.
    #[inline]
    pub fn attend(&mut self, now: Time, endpoint: &mut Endpoint, up: &mut impl Upcalls) {
        let (ring, control) = (&self.ring, &self.control);
        self.errands.attend(now, ring, control, endpoint, up);
        say(&mut self.refuses_system, endpoint.refuse_system(up), |is| {
            control.refuse_system(is);
        });
        say(&mut self.refuses_early, endpoint.refuse_early(), |is| {
            control.refuse_early(is);
        });
    }
}

/// Writes to the control page only what has changed: the interface program reads it for each packet.
#[inline]
fn say(said: &mut bool, is: bool, write: impl FnOnce(bool)) {
    if *said != is {
        *said = is;
        write(is);
    }
}
