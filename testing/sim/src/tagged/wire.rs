//! The simulated port as the books of an endpoint have it: a carrier of system messages and of bodies.

use std::collections::BTreeMap;

use bcl_adi::{Address, Carrier, Id, Memory, OpError, PortError};
use bcl_proto::{NormalSend, SystemHandle, Time};
use bcl_types::{Cause, OpId};

use crate::port::{Heard, SimPort};

/// Channel of all bodies. The name that their sender has for them is their immediate data.
const CHANNEL: u16 = 1;

/// What the books are to be told.
pub enum Told {
    System(Address, SystemHandle, u64),
    Up(Address),
    Gone(Address, Cause),
    SystemSent(Address, u32, Result<(), OpError>),
    BodySent(Id, Result<(), OpError>),
    BodyReceived(Id, Result<(), OpError>),
}

/// A port, and what is under way on it.
pub struct Wire {
    pub port: SimPort,
    pub now_ns: u64,
    ops: BTreeMap<OpId, Op>,
    pub limits: Limits,
    /// How often it had no room.
    refusals: u64,
    /// Bodies may lie in the window, which peers write once they have them, before our end of it is heard.
    pub lends_window: bool,
    /// Something that no program may do to the memory that it has lent.
    pub wrong: Option<String>,
}

/// Whims of a port.
#[derive(Debug)]
pub struct Limits {
    /// Operations that may be under way, and buffers that may wait for bodies.
    pub ops: usize,
    pub posts: usize,
    /// Receive events are told before those of sends that have succeeded, as a port does; else all in their order.
    pub receives_first: bool,
}

enum Op {
    System(Address, u32),
    Body(Id, Memory),
    Buffer(Id, Memory),
}

impl Wire {
    pub fn new(port: SimPort, limits: Limits) -> Self {
        Self {
            port,
            now_ns: 0,
            ops: BTreeMap::new(),
            limits,
            refusals: 0,
            lends_window: false,
            wrong: None,
        }
    }

    /// The next that there is to tell.
    pub fn next(&mut self) -> Option<Told> {
        loop {
            if self.port.memory.heard.is_empty() {
                let now = Time(self.now_ns);
                self.port.endpoint.see_off(now, &mut self.port.memory);
                self.port.manage(self.now_ns);
            }
            let heard = self.next_heard()?;
            if let Some(told) = self.told(heard) {
                return Some(told);
            }
        }
    }

    fn next_heard(&mut self) -> Option<Heard> {
        let heard = &mut self.port.memory.heard;
        let is_send = |heard: &Heard| matches!(heard, Heard::Sent(..));
        let keeps_order = |heard: &Heard| !matches!(heard, Heard::Sent(_, _, Ok(())));
        let place = match self.limits.receives_first {
            // What has failed does not come later than it did, nor does anything before it.
            true => heard
                .iter()
                .position(keeps_order)
                .filter(|place| !is_send(&heard[*place])),
            false => None,
        };
        heard.remove(place.unwrap_or(0))
    }

    fn told(&mut self, heard: Heard) -> Option<Told> {
        match heard {
            Heard::System {
                from,
                handle,
                immediate,
                ..
            } => Some(Told::System(from, handle, immediate)),
            Heard::Owed(arrival) => {
                self.port.meet(Time(self.now_ns), arrival);
                None
            }
            Heard::Up(peer) => Some(Told::Up(peer)),
            Heard::Gone(peer, cause) => Some(Told::Gone(peer, cause)),
            Heard::Sent(op, _, result) => self.sent(op, result),
            Heard::Received {
                op,
                len_bytes,
                result,
                ..
            } => self.received(op, len_bytes as usize, result),
            _ => None,
        }
    }

    fn sent(&mut self, op: OpId, result: Result<(), OpError>) -> Option<Told> {
        let lent = self.port.memory.back.remove(&op);
        match self.ops.remove(&op)? {
            Op::System(to, life) => Some(Told::SystemSent(to, life, result)),
            Op::Body(name, memory) => {
                if !self.lends_window && lent.is_some_and(|lent| lent != read(&memory)) {
                    self.wrong = Some(format!("body {name:#x} was changed before its end"));
                }
                Some(Told::BodySent(name, result))
            }
            Op::Buffer(..) => None,
        }
    }

    fn received(
        &mut self,
        op: OpId,
        len_bytes: usize,
        result: Result<(), OpError>,
    ) -> Option<Told> {
        let bytes = self.port.memory.back.remove(&op).unwrap_or_default();
        let Some(Op::Buffer(incoming, memory)) = self.ops.remove(&op) else {
            return None;
        };
        if result.is_ok() {
            // SAFETY: programs keep what they lend as long as there is a world; the port has checked the length.
            unsafe { memory.scatter(&bytes[..len_bytes]) };
        }
        Some(Told::BodyReceived(incoming, result))
    }

    /// What is under way, in words.
    pub fn describe(&self) -> String {
        let count = |is_one: fn(&Op) -> bool| self.ops.values().filter(|op| is_one(op)).count();
        format!(
            "{} system messages and {} bodies are leaving, {} bodies are waited for, {} refusals",
            count(|op| matches!(op, Op::System(..))),
            count(|op| matches!(op, Op::Body(..))),
            count(|op| matches!(op, Op::Buffer(..))),
            self.refusals,
        )
    }

    fn refuse<T>(&mut self, limit: usize) -> Result<T, PortError> {
        self.refusals += 1;
        Err(PortError::QueueFull { limit })
    }

    /// Whether something can be sent now.
    fn check(&mut self) -> Result<(), PortError> {
        let is_end = |heard: &Heard| matches!(heard, Heard::Gone(..) | Heard::Sent(_, _, Err(_)));
        let owes_ends = self.port.memory.heard.iter().any(is_end);
        // Buffers that no body has met are no operations.
        let under_way = self.ops.len() - self.port.memory.named().min(self.ops.len());
        if owes_ends || under_way >= self.limits.ops {
            return self.refuse(self.limits.ops);
        }
        Ok(())
    }
}

impl Carrier for Wire {
    fn system_max(&mut self, to: Address) -> usize {
        self.port.endpoint.system_max(to)
    }

    fn send_system(
        &mut self,
        to: Address,
        bytes: &[u8],
        tag: u64,
        life: u32,
    ) -> Result<bool, PortError> {
        self.check()?;
        let mut waits = None;
        let SimPort {
            endpoint, memory, ..
        } = &mut self.port;
        let has_left = endpoint.send_system(Time(self.now_ns), to, bytes, tag, memory, |memory| {
            *waits.insert(memory.new_op())
        });
        if let Some(op) = waits {
            self.ops.insert(op, Op::System(to, life));
        }
        self.port.manage(self.now_ns);
        Ok(has_left)
    }

    unsafe fn send_body(
        &mut self,
        to: Address,
        name: Id,
        memory: &Memory,
    ) -> Result<(), PortError> {
        self.check()?;
        let op = self.port.memory.lend(read(memory));
        self.ops.insert(op, Op::Body(name, memory.clone()));
        let send = NormalSend {
            op,
            channel: CHANNEL,
            len_bytes: memory.len_bytes() as u64,
            immediate: name,
        };
        let SimPort {
            endpoint, memory, ..
        } = &mut self.port;
        endpoint.send_normal(Time(self.now_ns), to, send, memory);
        self.port.manage(self.now_ns);
        Ok(())
    }

    unsafe fn receive_body(
        &mut self,
        from: Address,
        name: Id,
        memory: &Memory,
        incoming: Id,
    ) -> Result<(), PortError> {
        let heard = &mut self.port.memory;
        if heard.named() >= self.limits.posts {
            return self.refuse(self.limits.posts);
        }
        let (waiting, len_bytes) = (heard.waiting_named(from, name), memory.len_bytes());
        let op = waiting.unwrap_or_else(|| heard.post_named(from, name, len_bytes));
        self.ops.insert(op, Op::Buffer(incoming, memory.clone()));
        if waiting.is_some() {
            let now = Time(self.now_ns);
            self.port.give_buffer(now, op, len_bytes);
        }
        Ok(())
    }

    fn unasked_max(&self) -> usize {
        self.limits.ops / 2
    }

    fn take_back(&mut self, from: Address, name: Id) -> bool {
        let op = self.port.memory.take_back_named(from, name);
        op.is_some_and(|op| self.ops.remove(&op).is_some())
    }
}

/// What lies in memory that a program has lent.
fn read(memory: &Memory) -> Vec<u8> {
    let mut bytes = vec![0; memory.len_bytes()];
    // SAFETY: programs keep what they lend as long as there is a world.
    unsafe { memory.gather(&mut bytes) };
    bytes
}
