//! What the program asks for.

use bcl_os::sync::bump;
use bcl_proto as proto;
use bcl_tier::page::Counter;
use bcl_tier::{Action, MessageId, NormalSend, Pieces, RmaOp, SystemHandle, Target, Upcalls};
use bcl_types::{Address, OpId};

use super::{Engine, bridge, now};
use crate::lent::Memory;
use crate::names;

impl Engine {
    pub fn system_max(&mut self, to: Address) -> usize {
        self.endpoint.system_max(to)
    }

    pub fn send_system<U: Upcalls>(
        &mut self,
        to: Address,
        data: &[u8],
        immediate: u64,
        up: &mut U,
        name: impl FnOnce(&mut U) -> OpId,
    ) -> bool {
        let now = now();
        let bridge = bridge!(self, up);
        let done = self
            .endpoint
            .send_system(now, to, data, immediate, bridge, |bridge| name(bridge.up));
        if done {
            self.count_sent(data);
        }
        self.flush(now, up);
        done
    }

    fn count_sent(&self, data: &[u8]) {
        bump(self.shared.page.counter(Counter::SystemSent), 1);
        let bytes = self.shared.page.counter(Counter::BytesSent);
        bump(bytes, data.len() as u64);
    }

    pub fn unreliable_max(&mut self, to: Address) -> usize {
        self.endpoint.unreliable_max(to)
    }

    /// False if it was dropped; the error is the longest that the peer can be sent now.
    pub fn send_unreliable(
        &mut self,
        to: Address,
        data: &[u8],
        up: &mut impl Upcalls,
    ) -> Result<bool, usize> {
        let limit = self.unreliable_max(to);
        if data.len() > limit {
            return Err(limit);
        }
        let now = now();
        let bridge = bridge!(self, up);
        let was_taken = self.endpoint.send_unreliable(now, to, data, bridge);
        if was_taken {
            self.count_sent(data);
        }
        self.flush(now, up);
        Ok(was_taken)
    }

    pub fn send_normal(&mut self, to: Address, send: NormalSend, up: &mut impl Upcalls) {
        let now = now();
        let NormalSend {
            op,
            channel,
            immediate,
            source,
        } = send;
        self.lent.lend(op, Memory::Source(source.memory));
        let send = proto::NormalSend {
            op,
            channel,
            len_bytes: source.memory.len_bytes() as u64,
            immediate,
        };
        let bridge = bridge!(self, up);
        self.endpoint.send_normal(now, to, send, bridge);
        self.flush(now, up);
    }

    pub fn cancel_send<U: Upcalls>(
        &mut self,
        to: Address,
        up: &mut U,
        wanted: impl Fn(&U, OpId) -> bool,
    ) -> bool {
        let bridge = bridge!(self, up);
        self.endpoint
            .cancel_send(to, bridge, |bridge, op| wanted(bridge.up, op))
    }

    pub fn rma(&mut self, peer: Address, op: RmaOp, up: &mut impl Upcalls) {
        let now = now();
        bump(self.shared.page.counter(Counter::RmaOut), 1);
        match op.action {
            Action::Put { from, len_bytes } => {
                let from = Pieces::one(from.cast_mut(), len_bytes);
                self.lent.lend(op.op, Memory::Source(from));
            }
            Action::Get { to, len_bytes } => {
                let to = Pieces::one(to, len_bytes);
                self.lent.lend(op.op, Memory::Target(to));
            }
            Action::Atomic(_) => {}
        }
        let bridge = bridge!(self, up);
        self.endpoint.rma(now, peer, names::rma(&op), bridge);
        self.flush(now, up);
    }

    pub fn accept(&mut self, message: MessageId, target: Target, up: &mut impl Upcalls) -> bool {
        let now = now();
        self.lent.lend(target.op, Memory::Target(target.memory));
        let message = names::message_to_proto(message);
        let posted = proto::Target {
            op: target.op,
            capacity_bytes: target.memory.len_bytes() as u64,
        };
        let bridge = bridge!(self, up);
        let found = self.endpoint.accept(now, message, posted, bridge);
        if !found {
            self.lent.give_back(target.op);
        }
        self.flush(now, up);
        found
    }

    /// Takes a system message back; false if it was released before.
    pub fn release(&mut self, message: &SystemHandle) -> bool {
        names::handle_to_proto(message).is_some_and(|handle| self.endpoint.release(&handle))
    }

    pub fn close(&mut self, up: &mut impl Upcalls) {
        let now = now();
        let bridge = bridge!(self, up);
        self.endpoint.close(now, bridge);
        self.flush(now, up);
    }
}
