//! Windows that the interface program serves ([MCP-4.3]): the program's thread has them entered when it binds memory, and
//! waits for the agent. What is not served so is served by whoever drives the engine, from the table of windows.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_agent_client::message::{Answer, Request, Window};
use bcl_agent_client::{AgentError, Outcome, Unanswered};
use bcl_layout::{control, tables};
use bcl_os::Fd;
use bcl_os::sync::Ordering;
use bcl_tier::page::Counter;
use bcl_tier::{AgentMemories, Region, Upcalls, WINDOW_COUNT, WindowMemory};
use bcl_types::Access;

use crate::deferred::Deferred;
use crate::engine::Look;
use crate::interface::Interface;
use crate::station::Station;

const _: () = assert!(WINDOW_COUNT as usize == control::WINDOWS);
const _: () = assert!(
    Access::GET.bits() == tables::Window::GET
        && Access::PUT.bits() == tables::Window::PUT
        && Access::ATOMIC.bits() == tables::Window::ATOMIC
        && Access::NOTIFY.bits() == tables::Window::NOTIFY
);

/// The agent enters a window, or removes one, within this, or never. No packet is dealt with for so long either.
const PATIENCE: Duration = Duration::from_secs(1);
/// It clears so much memory in the time of [`PATIENCE`], on a slow machine.
const CLEARED_BYTES: u64 = 100 << 20;
/// An agent that has not answered is not asked again for so long.
const PAUSE: Duration = Duration::from_secs(30);
/// What lies in the ring is dealt with within this, unless the program takes no events.
const EMPTYING: Duration = Duration::from_millis(100);
/// Between two looks at what comes, while the agent is waited for.
const LOOK: Duration = Duration::from_millis(2);

/// The windows of a port that the interface program serves.
#[derive(Debug, Default)]
pub struct Windows {
    served: BTreeSet<u16>,
    /// When the agent, which did not answer, may be asked again.
    ask_again_at: Option<Instant>,
}

/// A window is not served by the interface program.
#[derive(Debug)]
struct NotServed;

impl Windows {
    /// Has a window served, if it can be. Before it is in the table of windows.
    pub fn bind(
        &mut self,
        station: &Station,
        window: u16,
        memory: &WindowMemory,
        access: Access,
        up: &mut impl Upcalls,
    ) {
        let entered = self.talk(station, up).hand_over(window, memory, access);
        if entered.is_ok() {
            self.served.insert(window);
            self.publish(station);
        }
    }

    /// No longer serves a window, which is not in the table any more.
    pub fn unbind(&mut self, station: &Station, window: u16, up: &mut impl Upcalls) {
        station.visit(up, |engine, _| engine.on_unbound(window));
        if self.served.remove(&window) {
            self.publish(station);
            self.talk(station, up).take_back(window);
        }
    }

    /// No longer serves any.
    pub fn close(&mut self, station: &Station) {
        let mut unheard = Deferred::default();
        let served = std::mem::take(&mut self.served);
        let mut talk = self.talk(station, &mut unheard);
        talk.interface(|interface| {
            for window in &served {
                interface.offer(*window, false);
            }
        });
        // The agent forgets all with the port. When it has removed one, no packet is dealt with that has found another.
        if let Some(last) = served.last() {
            talk.take_back(*last);
        }
    }

    fn publish(&self, station: &Station) {
        let served = station.port().page.counter(Counter::WindowsByInterface);
        served.store(self.served.len() as u64, Ordering::Relaxed);
    }

    fn talk<'a, U>(&'a mut self, station: &'a Station, up: &'a mut U) -> Talk<'a, U> {
        Talk {
            station,
            up,
            windows: self,
        }
    }
}

/// What is needed to talk to the agent and go on meanwhile.
struct Talk<'a, U> {
    station: &'a Station,
    up: &'a mut U,
    windows: &'a mut Windows,
}

impl<U: Upcalls> Talk<'_, U> {
    fn hand_over(
        &mut self,
        window: u16,
        memory: &WindowMemory,
        access: Access,
    ) -> Result<(), NotServed> {
        let (buffer, offset) = memory.buffer().ok_or(NotServed)?;
        let memories = self.interface(|interface| interface.memories());
        let memories = memories.ok_or(NotServed)?;
        let pauses = self.windows.ask_again_at;
        if pauses.is_some_and(|at| Instant::now() < at)
            || self.interface(|interface| interface.is_leaving(window)) == Some(true)
            || !offset.is_multiple_of(8)
            || memory.len_bytes() == 0
        {
            return Err(NotServed);
        }
        let number = match buffer.memory(&memories) {
            Some(number) => number,
            None if !buffer.can_move() => return Err(NotServed),
            None => self.move_to_map(buffer, &memories)?,
        };
        self.enter(Window {
            window,
            memory: number,
            offset: offset as u64,
            bytes: memory.len_bytes() as u64,
            access: access.bits(),
        })
    }

    /// Puts a buffer into memory of the agent's; says its number.
    fn move_to_map(
        &mut self,
        buffer: &Region,
        memories: &Arc<AgentMemories>,
    ) -> Result<u32, NotServed> {
        let bytes = buffer.mapped_bytes() as u64;
        let patience = PATIENCE * (1 + bytes / CLEARED_BYTES) as u32;
        let made = self.ask(Request::Memory { bytes }, patience);
        let Ok((Answer::Memory { memory, .. }, descriptors)) = made else {
            return Err(NotServed);
        };
        let map = descriptors.into_iter().next();
        if map.is_some_and(|map| buffer.move_to(map, memory, memories).is_ok()) {
            return Ok(memory);
        }
        self.interface(|interface| interface.free(memory));
        Err(NotServed)
    }

    /// In this order nothing that comes for the window is performed in another: until the ring is empty the program finds no
    /// window, and once the agent has answered nothing more for it gets into the ring.
    fn enter(&mut self, entry: Window) -> Result<(), NotServed> {
        let window = entry.window;
        self.interface(|interface| interface.offer(window, true));
        let entered = self.ask(Request::Bind(entry), PATIENCE);
        if entered.is_ok() && self.empties_ring() {
            return Ok(());
        }
        let is_entered = entered.map_or_else(|unanswered| unanswered.may_be_done, |_| true);
        self.interface(|interface| {
            interface.offer(window, false);
            if is_entered {
                interface.leave(window);
            }
        });
        Err(NotServed)
    }

    /// Deals with what lies in the ring. False if there is no room for it.
    fn empties_ring(&mut self) -> bool {
        let Some(end) = self.interface(|interface| interface.ring_end()) else {
            return false;
        };
        let deadline = Instant::now() + EMPTYING;
        while self.interface(|interface| interface.ring_has_passed(end)) == Some(false) {
            if Instant::now() >= deadline {
                return false;
            }
            self.station.visit(self.up, |engine, up| {
                engine.turn(Look::WherePacketsCome, up)
            });
        }
        true
    }

    fn take_back(&mut self, window: u16) {
        self.interface(|interface| interface.offer(window, false));
        let since = Instant::now();
        if self.ask(Request::Unbind { window }, PATIENCE).is_ok() {
            return;
        }
        // Nobody says when no packet is dealt with any more that found the window offered.
        std::thread::sleep(PATIENCE.saturating_sub(since.elapsed()));
        self.interface(|interface| interface.leave(window));
    }

    /// Asks the agent and waits for its answer.
    fn ask(
        &mut self,
        request: Request,
        patience: Duration,
    ) -> Result<(Answer, Vec<Fd>), Unanswered> {
        self.interface(|interface| interface.ask(request, patience));
        let outcome = loop {
            let outcome = self.station.visit(self.up, |engine, up| {
                engine.turn(Look::Everywhere, up);
                engine.interface().and_then(Interface::next_answer)
            });
            match outcome {
                Some(outcome) => break outcome,
                None => self.station.await_agent(LOOK),
            }
        };
        let Outcome {
            result,
            descriptors,
            ..
        } = outcome;
        let is_silent =
            |unanswered: &Unanswered| matches!(*unanswered.error, AgentError::Silent { .. });
        if result.as_ref().is_err_and(is_silent) {
            self.windows.ask_again_at = Some(Instant::now() + PAUSE);
        }
        Ok((result?, descriptors))
    }

    /// Does something at the interface; `None` if the port has none.
    fn interface<R>(&mut self, act: impl FnOnce(&mut Interface) -> R) -> Option<R> {
        self.station
            .visit(self.up, |engine, _| engine.interface().map(act))
    }
}
