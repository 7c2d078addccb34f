//! What an endpoint asks and tells the program around it.

use bcl_proto::{MessageId, Path, Payload, SystemHandle, Target, Upcalls, WindowPut};
use bcl_types::{Address, Atomic, Cause, OpError, OpId, Refusal};

use super::immediate_of;
use super::memory::{Arrival, Granted, Heard, Memory};
use super::seat;

impl Memory {
    fn window(&mut self, window: u16, offset: u64, len_bytes: u64) -> Result<&mut [u8], Refusal> {
        let window = self.windows.get_mut(&window).ok_or(Refusal::NoWindow)?;
        let end = offset.checked_add(len_bytes).ok_or(Refusal::Range)?;
        let [start, end] = [offset, end].map(usize::try_from);
        let (Ok(start), Ok(end)) = (start, end) else {
            return Err(Refusal::Range);
        };
        window.get_mut(start..end).ok_or(Refusal::Range)
    }
}

impl Upcalls for Memory {
    fn path_to(&mut self, peer: Address) -> Option<Path> {
        let to = *self.addresses.get(seat(peer))?;
        Some(Path { to, rail: 0 })
    }

    fn secret_of(&mut self, peer: Address) -> Option<[u8; 32]> {
        self.keys.borrow().get(&seat(peer)).copied()
    }

    fn datagram_bytes(&mut self, _path: Path) -> Option<u16> {
        self.route_bytes
    }

    fn is_full(&self) -> bool {
        self.heard.len() >= self.most_events
    }

    fn owes_arrivals(&self) -> bool {
        let mut heard = self.heard.iter();
        heard.any(|heard| matches!(heard, Heard::Owed(_)))
    }

    fn system(&mut self, from: Address, handle: SystemHandle, immediate: u64, bytes: &[u8]) {
        // Those that may be lost have none.
        assert!(
            !self.immediates_follow || immediate == 0 || immediate == immediate_of(bytes),
            "a system message has come with another's immediate data"
        );
        let place = bytes.as_ptr();
        self.tell(Heard::System {
            from,
            handle,
            immediate,
            place,
        });
    }

    fn arrived(
        &mut self,
        from: Address,
        id: MessageId,
        channel: u16,
        len_bytes: u64,
        immediate: u64,
    ) -> Option<Target> {
        let arrival = Arrival {
            from,
            id,
            channel,
            len_bytes,
            immediate,
        };
        if self.looks_later {
            self.tell(Heard::Owed(arrival));
            return None;
        }
        let (heard, target) = self.meet(arrival);
        self.tell(heard);
        target
    }

    fn withdrawn(&mut self, id: MessageId, _channel: u16) {
        let is_it = |heard: &Heard| matches!(heard, Heard::Owed(arrival) if arrival.id == id);
        if let Some(index) = self.heard.iter().position(is_it) {
            self.heard.remove(index);
        }
        let mut waiting = self.waiting.iter();
        if let Some((&op, _)) = waiting.find(|(_, arrival)| arrival.id == id) {
            self.waiting.remove(&op);
            self.immediates.remove(&op);
            self.tell(Heard::Withdrawn(op));
        }
    }

    fn place(&mut self, op: OpId, offset: u64, bytes: &[u8]) -> bool {
        let start = offset as usize;
        let memory = self.lent.get_mut(&op);
        match memory.and_then(|memory| memory.get_mut(start..start + bytes.len())) {
            Some(place) => {
                place.copy_from_slice(bytes);
                true
            }
            None => false,
        }
    }

    fn fetch(&mut self, op: OpId, offset: u64, into: &mut [u8]) -> bool {
        let payload = Payload::Lent {
            op,
            offset,
            len_bytes: into.len() as u16,
        };
        let bytes = self.lent(&payload);
        bytes.is_some_and(|bytes| {
            into.copy_from_slice(bytes);
            true
        })
    }

    fn received(
        &mut self,
        from: Address,
        channel: u16,
        op: OpId,
        len_bytes: u64,
        result: Result<(), OpError>,
    ) {
        for granted in &mut self.granted {
            *granted = granted.filter(|granted| granted.op != op);
        }
        let immediate = self.immediates.remove(&op);
        let bytes = self.lent.get(&op);
        if let Some(bytes) = bytes.and_then(|bytes| bytes.get(..len_bytes as usize))
            && result.is_ok()
            && self.immediates_follow
        {
            assert_eq!(immediate, Some(immediate_of(bytes)), "immediate data");
        }
        self.give_back(op);
        self.tell(Heard::Received {
            from,
            channel,
            op,
            len_bytes,
            result,
        });
    }

    fn sent(
        &mut self,
        _to: Address,
        _channel: u16,
        op: OpId,
        len_bytes: u64,
        result: Result<(), OpError>,
    ) {
        self.give_back(op);
        self.tell(Heard::Sent(op, len_bytes, result));
    }

    fn rma_done(
        &mut self,
        _peer: Address,
        _window: u16,
        op: OpId,
        value: u64,
        result: Result<(), OpError>,
    ) {
        self.give_back(op);
        self.tell(Heard::Rma(op, value, result));
    }

    fn window_put(&mut self, _from: Address, put: WindowPut, bytes: &[u8]) -> Result<(), Refusal> {
        if self.read_only {
            return Err(Refusal::Denied);
        }
        // Either all of it is inside or nothing is written.
        self.window(put.window, put.start, put.len_bytes)?;
        self.window(put.window, put.offset, bytes.len() as u64)?
            .copy_from_slice(bytes);
        if put.is_last && self.hears_of_writes {
            self.tell(Heard::Put(put.start, put.len_bytes));
        }
        Ok(())
    }

    fn window_written(&mut self, _from: Address, window: u16, start: u64, len_bytes: u64) {
        let is_there = self.window(window, start, len_bytes).is_ok();
        assert!(is_there, "a notice of what cannot have been written");
        if self.hears_of_writes {
            self.tell(Heard::Written(window, start, len_bytes));
        }
    }

    fn granted(&mut self, connection: u32, message: u32, op: OpId, len_bytes: u64) {
        let free = self.granted.iter_mut().find(|granted| granted.is_none());
        if let Some(free) = free {
            *free = Some(Granted {
                connection,
                message,
                op,
                len_bytes,
            });
        }
    }

    fn window_get(
        &mut self,
        _from: Address,
        window: u16,
        offset: u64,
        into: &mut [u8],
    ) -> Result<(), Refusal> {
        into.copy_from_slice(self.window(window, offset, into.len() as u64)?);
        Ok(())
    }

    fn window_atomic(
        &mut self,
        _from: Address,
        window: u16,
        offset: u64,
        atomic: Atomic,
    ) -> Result<u64, Refusal> {
        let place = self.window(window, offset, 8)?;
        let found = u64::from_le_bytes(place.first_chunk().copied().unwrap_or_default());
        let left = match atomic {
            Atomic::FetchAdd(value) => found.wrapping_add(value),
            Atomic::CompareSwap { expected, new } if found == expected => new,
            Atomic::CompareSwap { .. } => found,
        };
        place.copy_from_slice(&left.to_le_bytes());
        Ok(found)
    }

    fn peer_up(&mut self, peer: Address) {
        self.tell(Heard::Up(peer));
    }

    fn peer_gone(&mut self, peer: Address, cause: Cause) {
        self.tell(Heard::Gone(peer, cause));
    }
}
