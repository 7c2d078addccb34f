//! A tier that notes what is asked of it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bcl_tier::{
    Depths, LinkInfo, MessageId, NormalSend, RmaOp, SystemHandle, Target, Tier, Upcalls, WaitSet,
};
use bcl_types::{Address, Device, NodeId, OpId};

/// Which tier was asked what. Questions are not noted.
pub type Log = Rc<RefCell<Vec<(&'static str, &'static str)>>>;

/// Longest unreliable message.
pub const LONGEST_BYTES: usize = 100;

/// A tier that notes what is asked of it.
pub struct Fake {
    name: &'static str,
    log: Log,
    pub knows: bool,
    pub finds: bool,
    /// A send is there that can be taken back.
    pub has_send: bool,
    /// Nothing has come that would keep it from being armed.
    pub arms: bool,
    pub is_armed: bool,
    pub depths: Depths,
    pub lingered: Option<Duration>,
}

impl Fake {
    pub fn new(name: &'static str, log: &Log) -> Self {
        Self {
            name,
            log: Rc::clone(log),
            knows: false,
            finds: false,
            has_send: false,
            arms: true,
            is_armed: false,
            depths: Depths::default(),
            lingered: None,
        }
    }

    fn note(&self, call: &'static str) {
        self.log.borrow_mut().push((self.name, call));
    }
}

impl Tier for Fake {
    fn knows(&mut self, _: Address) -> bool {
        self.knows
    }

    fn finds(&self, _: Address) -> bool {
        self.finds
    }

    fn send_system<U: Upcalls>(
        &mut self,
        _: Address,
        _: &[u8],
        _: u64,
        _: &mut U,
        _: impl FnOnce(&mut U) -> OpId,
    ) -> bool {
        self.note("send_system");
        true
    }

    fn unreliable_max(&mut self, _: Address, _: &mut impl Upcalls) -> usize {
        self.note("unreliable_max");
        LONGEST_BYTES
    }

    fn send_unreliable(
        &mut self,
        _: Address,
        data: &[u8],
        _: &mut impl Upcalls,
    ) -> Result<bool, usize> {
        self.note("send_unreliable");
        match data.len() > LONGEST_BYTES {
            true => Err(LONGEST_BYTES),
            false => Ok(true),
        }
    }

    fn send_normal(&mut self, _: Address, _: NormalSend, _: &mut impl Upcalls) {
        self.note("send_normal");
    }

    fn cancel_send<U: Upcalls>(
        &mut self,
        _: Address,
        _: &mut U,
        _: impl Fn(&U, OpId) -> bool,
    ) -> bool {
        self.note("cancel_send");
        self.has_send
    }

    fn rma(&mut self, _: Address, _: RmaOp, _: &mut impl Upcalls) {
        self.note("rma");
    }

    fn accept(&mut self, _: MessageId, _: Target, _: &mut impl Upcalls) -> bool {
        self.note("accept");
        true
    }

    fn release(&mut self, _: &SystemHandle) -> bool {
        self.note("release");
        true
    }

    fn poll(&mut self, _: &mut impl Upcalls) -> bool {
        self.note("poll");
        false
    }

    /// As the real ones do: the near tier has woken if something has come, the far one stays armed.
    fn arm(&mut self, _: &mut impl Upcalls) -> bool {
        self.is_armed = self.arms || self.name == "far";
        self.arms
    }

    fn is_armed(&self) -> bool {
        self.is_armed
    }

    fn disarm(&mut self) {
        self.is_armed = false;
    }

    fn wait_set(&self) -> Option<Arc<dyn WaitSet>> {
        None
    }

    fn links(&self) -> Vec<(Address, LinkInfo)> {
        let peer = Address {
            node: NodeId::LOOPBACK,
            port: 1,
        };
        let link = LinkInfo {
            device: Device::Shm,
            copy: self.name.to_owned(),
        };
        vec![(peer, link)]
    }

    fn publish(&self, depths: &mut Depths) {
        depths.pending_sends += self.depths.pending_sends;
        depths.unexpected += self.depths.unexpected;
        depths.unreleased += self.depths.unreleased;
        depths.peer_memory_bytes += self.depths.peer_memory_bytes;
        depths.peers += self.depths.peers;
    }

    fn close(&mut self, linger: Duration) {
        self.note("close");
        self.lingered = Some(linger);
    }
}
