//! The network tier of one port, as the library above sees it.

use std::sync::Arc;
use std::time::Duration;

use bcl_node::{Nodes, sandbox};
use bcl_tier::{
    Depths, LinkInfo, MessageId, NormalSend, RmaOp, Shared, SystemHandle, Target, Tier, Upcalls,
    WaitSet, WindowMemory,
};
use bcl_types::{Access, Address, OpId};

use crate::engine::open::{NetConfig, OpenError};
use crate::engine::{Engine, Look};
use crate::station::Station;
use crate::watcher;
use crate::windows::Windows;

/// Polls without a packet after which the sources are looked at less often: a system call costs more than a look at
/// all shared-memory peers.
const PATIENT_POLLS: u32 = 4096;
/// Polls between two looks at the sources then.
const POLLS_PER_LOOK: u32 = 8;

/// The network tier of one port. Not for two threads at once; the port above sees to that.
#[derive(Debug)]
pub struct NetPort {
    station: Arc<Station>,
    windows: Windows,
    quiet_polls: u32,
    /// Packets are to wake who sleeps.
    is_armed: bool,
}

impl NetPort {
    /// Opens the UDP port that belongs to the port's number: from now on other nodes can find it.
    ///
    /// # Errors
    /// When it cannot be had, or not as wished; the text says what to do.
    pub fn open(shared: &Arc<Shared>, config: NetConfig) -> Result<Self, OpenError> {
        sandbox::check_udp()?;
        let nodes = Nodes::load()?;
        let station = watcher::join(shared, |mailbox| {
            let engine = Engine::open(shared, config, nodes)?;
            Station::new(engine, Arc::clone(shared), mailbox).map_err(OpenError::Descriptor)
        })?;
        Ok(Self {
            station,
            windows: Windows::default(),
            quiet_polls: 0,
            is_armed: false,
        })
    }

    fn look(&mut self, look: Look, up: &mut impl Upcalls) -> bool {
        let moved = self.station.visit(up, |engine, up| engine.turn(look, up));
        if moved {
            self.quiet_polls = 0;
        }
        moved
    }
}

impl Tier for NetPort {
    fn knows(&mut self, peer: Address) -> bool {
        self.station.inspect(|engine| engine.knows(peer))
    }

    fn finds(&self, peer: Address) -> bool {
        self.station.inspect(|engine| engine.finds(peer))
    }

    fn system_max(&mut self, to: Address, up: &mut impl Upcalls) -> usize {
        self.station.visit(up, |engine, _| engine.system_max(to))
    }

    #[inline]
    fn send_system<U: Upcalls>(
        &mut self,
        to: Address,
        data: &[u8],
        immediate: u64,
        up: &mut U,
        name: impl FnOnce(&mut U) -> OpId,
    ) -> bool {
        self.quiet_polls = 0;
        self.station.visit(up, |engine, up| {
            engine.send_system(to, data, immediate, up, name)
        })
    }

    fn unreliable_max(&mut self, to: Address, up: &mut impl Upcalls) -> usize {
        self.station
            .visit(up, |engine, _| engine.unreliable_max(to))
    }

    fn send_unreliable(
        &mut self,
        to: Address,
        data: &[u8],
        up: &mut impl Upcalls,
    ) -> Result<bool, usize> {
        self.quiet_polls = 0;
        self.station
            .visit(up, |engine, up| engine.send_unreliable(to, data, up))
    }

    fn send_normal(&mut self, to: Address, send: NormalSend, up: &mut impl Upcalls) {
        self.quiet_polls = 0;
        self.station
            .visit(up, |engine, up| engine.send_normal(to, send, up));
    }

    /// Decided under the lock, so that neither this thread nor the background thread sends what is taken back.
    fn cancel_send<U: Upcalls>(
        &mut self,
        to: Address,
        up: &mut U,
        wanted: impl Fn(&U, OpId) -> bool,
    ) -> bool {
        self.station
            .visit(up, |engine, up| engine.cancel_send(to, up, wanted))
    }

    fn rma(&mut self, peer: Address, op: RmaOp, up: &mut impl Upcalls) {
        self.quiet_polls = 0;
        self.station
            .visit(up, |engine, up| engine.rma(peer, op, up));
    }

    fn bind(&mut self, window: u16, memory: &WindowMemory, access: Access, up: &mut impl Upcalls) {
        self.windows.bind(&self.station, window, memory, access, up);
    }

    fn unbind(&mut self, window: u16, up: &mut impl Upcalls) {
        self.windows.unbind(&self.station, window, up);
    }

    fn accept(&mut self, message: MessageId, target: Target, up: &mut impl Upcalls) -> bool {
        self.quiet_polls = 0;
        self.station
            .visit(up, |engine, up| engine.accept(message, target, up))
    }

    fn release(&mut self, message: &SystemHandle) -> bool {
        self.station.release(message)
    }

    /// Looks for packets, unless there is nobody who could send any or none have come for long.
    #[inline]
    fn poll(&mut self, up: &mut impl Upcalls) -> bool {
        if !self.station.is_worth_a_visit() {
            return false;
        }
        self.quiet_polls = self.quiet_polls.saturating_add(1);
        if self.quiet_polls > PATIENT_POLLS && !self.quiet_polls.is_multiple_of(POLLS_PER_LOOK) {
            return false;
        }
        self.look(Look::WherePacketsCome, up)
    }

    fn arm(&mut self, up: &mut impl Upcalls) -> bool {
        if !self.is_armed {
            self.is_armed = true;
            self.station.listen();
        }
        !self.look(Look::Everywhere, up)
    }

    fn is_armed(&self) -> bool {
        self.is_armed
    }

    fn disarm(&mut self) {
        if std::mem::take(&mut self.is_armed) {
            self.station.stop_listening();
        }
    }

    fn wait_set(&self) -> Option<Arc<dyn WaitSet>> {
        Some(Arc::clone(&self.station) as _)
    }

    fn links(&self) -> Vec<(Address, LinkInfo)> {
        self.station.inspect(Engine::links)
    }

    fn publish(&self, depths: &mut Depths) {
        self.station.inspect(|engine| engine.publish(depths));
    }

    fn close(&mut self, linger: Duration) {
        self.windows.close(&self.station);
        self.station.close(linger);
        watcher::leave(&self.station);
    }
}

#[cfg(test)]
mod tests;
