//! The memory that programs lend, and what the endpoint has said.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use bcl_layout::control::GRANTS;
use bcl_proto::{MessageId, Path, Payload, SystemHandle, Target, Upcalls, WindowPut};
use bcl_types::{Address, Atomic, Cause, OpError, OpId, Refusal};

use crate::oracle::Seat;
use crate::party::{Failure, News, Setup};

use super::seat;

/// Events that wait for the program before the port takes nothing more in.
const MOST_EVENTS: usize = 32;

/// What an operation of the endpoint belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    /// An operation of the program.
    Program(u64),
    /// The buffer for a message.
    Message(u64),
}

impl Name {
    pub(super) fn to_op(self) -> OpId {
        match self {
            Self::Program(number) => number << 1,
            Self::Message(number) => number << 1 | 1,
        }
    }

    fn of(op: OpId) -> Self {
        match op & 1 {
            0 => Self::Program(op >> 1),
            _ => Self::Message(op >> 1),
        }
    }
}

/// Something that the program is to be told.
pub(super) enum Heard {
    News(News),
    /// A message on a normal channel that is to meet a buffer yet.
    Owed(Arrival),
    /// A system message, to be looked at where it lies.
    System {
        from: Seat,
        message: u64,
        handle: SystemHandle,
        /// Where it lay when it came.
        place: *const u8,
    },
}

/// A message on a normal channel that has arrived.
pub(super) struct Arrival {
    pub(super) from: Seat,
    pub(super) id: MessageId,
    pub(super) channel: u16,
    pub(super) len_bytes: u64,
}

/// A buffer for a message that comes in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Granted {
    pub(super) connection: u32,
    pub(super) message: u32,
    pub(super) op: OpId,
    pub(super) len_bytes: u64,
}

/// Everything that the endpoint reaches by name.
pub(super) struct Memory {
    addresses: Vec<SocketAddr>,
    datagram_bytes: u16,
    lent: BTreeMap<Name, Vec<u8>>,
    pub(super) window: Vec<u8>,
    /// Buffers that an interface program may write into.
    pub(super) granted: [Option<Granted>; GRANTS],
    posts: BTreeMap<u16, VecDeque<usize>>,
    /// Messages on normal channels that wait for a buffer.
    waiting: BTreeMap<u64, MessageId>,
    system: BTreeMap<u64, SystemHandle>,
    messages: u64,
    /// Somebody else receives for the program, which gives buffers to messages only when it looks.
    looks_later: bool,
    heard: VecDeque<Heard>,
}

impl Memory {
    pub(super) fn new(setup: &Setup, looks_later: bool) -> Self {
        Self {
            addresses: setup.addresses.clone(),
            datagram_bytes: setup.datagram_bytes,
            lent: BTreeMap::new(),
            window: vec![0; setup.window_bytes],
            granted: [None; GRANTS],
            posts: BTreeMap::new(),
            waiting: BTreeMap::new(),
            system: BTreeMap::new(),
            messages: 0,
            looks_later,
            heard: VecDeque::new(),
        }
    }

    pub(super) fn tell(&mut self, news: News) {
        self.heard.push_back(Heard::News(news));
    }

    pub(super) fn heard(&mut self) -> Option<Heard> {
        self.heard.pop_front()
    }

    pub(super) fn moved(&mut self, seat: Seat, address: SocketAddr) {
        if let Some(known) = self.addresses.get_mut(seat) {
            *known = address;
        }
    }

    pub(super) fn lend(&mut self, op: u64, bytes: Vec<u8>) {
        self.lent.insert(Name::Program(op), bytes);
    }

    /// The bytes that a packet takes out of lent memory.
    pub(super) fn lent(&self, payload: &Payload) -> Option<&[u8]> {
        let &Payload::Lent {
            op,
            offset,
            len_bytes,
        } = payload
        else {
            return None;
        };
        let start = offset as usize;
        let memory = self.lent.get(&Name::of(op))?;
        memory.get(start..start + usize::from(len_bytes))
    }

    /// The memory of an operation.
    pub(super) fn buffer(&mut self, op: OpId) -> Option<&mut Vec<u8>> {
        self.lent.get_mut(&Name::of(op))
    }

    pub(super) fn post(&mut self, channel: u16, capacity_bytes: usize) {
        let posts = self.posts.entry(channel).or_default();
        posts.push_back(capacity_bytes);
    }

    /// Makes a buffer for a message that waits.
    pub(super) fn accept(&mut self, message: u64, capacity_bytes: usize) -> Option<MessageId> {
        let id = self.waiting.remove(&message)?;
        self.lent
            .insert(Name::Message(message), vec![0; capacity_bytes]);
        Some(id)
    }

    pub(super) fn take_system(&mut self, message: u64) -> Option<SystemHandle> {
        self.system.remove(&message)
    }

    pub(super) fn window_word(&self, index: usize) -> u64 {
        let place = self.window.get(index * 8..index * 8 + 8);
        let word = place.and_then(|place| place.first_chunk().copied());
        word.map_or(0, u64::from_le_bytes)
    }

    fn name_message(&mut self) -> u64 {
        self.messages += 1;
        self.messages
    }

    /// The buffer for a message, if one is posted, else it waits; and what the program is told.
    pub(super) fn meet(&mut self, arrival: &Arrival) -> (News, Option<Target>) {
        let message = self.name_message();
        let posts = self.posts.get_mut(&arrival.channel);
        let posted = posts.and_then(VecDeque::pop_front);
        let news = News::Arrived {
            from: arrival.from,
            channel: arrival.channel,
            message,
            len_bytes: arrival.len_bytes,
            waits: posted.is_none(),
        };
        let Some(capacity_bytes) = posted else {
            self.waiting.insert(message, arrival.id);
            return (news, None);
        };
        let name = Name::Message(message);
        self.lent.insert(name, vec![0; capacity_bytes]);
        let target = Target {
            op: name.to_op(),
            capacity_bytes: capacity_bytes as u64,
        };
        (news, Some(target))
    }

    fn end(&mut self, op: OpId, value: u64, result: Result<(), OpError>) {
        let name = Name::of(op);
        let bytes = self.lent.remove(&name).unwrap_or_default();
        let op = match name {
            Name::Program(op) => op,
            Name::Message(_) => return,
        };
        let result = result.map(|()| (value, bytes)).map_err(failure);
        self.tell(News::Ended { op, result });
    }

    fn window(&mut self, window: u16, offset: u64, len: usize) -> Result<&mut [u8], Refusal> {
        if window != super::WINDOW {
            return Err(Refusal::NoWindow);
        }
        let start = usize::try_from(offset).map_err(|_| Refusal::Range)?;
        let end = start.checked_add(len).ok_or(Refusal::Range)?;
        self.window.get_mut(start..end).ok_or(Refusal::Range)
    }
}

impl Upcalls for Memory {
    fn path_to(&mut self, peer: Address) -> Option<Path> {
        let to = *self.addresses.get(seat(peer))?;
        Some(Path { to, rail: 0 })
    }

    fn datagram_bytes(&mut self, _path: Path) -> Option<u16> {
        Some(self.datagram_bytes)
    }

    fn is_full(&self) -> bool {
        self.heard.len() >= MOST_EVENTS
    }

    fn owes_arrivals(&self) -> bool {
        self.heard
            .iter()
            .any(|heard| matches!(heard, Heard::Owed(_)))
    }

    fn system(&mut self, from: Address, handle: SystemHandle, bytes: &[u8]) {
        let message = self.name_message();
        self.system.insert(message, handle);
        let from = seat(from);
        self.heard.push_back(Heard::System {
            from,
            message,
            handle,
            place: bytes.as_ptr(),
        });
    }

    fn arrived(
        &mut self,
        from: Address,
        id: MessageId,
        channel: u16,
        len_bytes: u64,
    ) -> Option<Target> {
        let arrival = Arrival {
            from: seat(from),
            id,
            channel,
            len_bytes,
        };
        if self.looks_later {
            self.heard.push_back(Heard::Owed(arrival));
            return None;
        }
        let (news, target) = self.meet(&arrival);
        self.tell(news);
        target
    }

    fn withdrawn(&mut self, id: MessageId, _channel: u16) {
        let is_it = |heard: &Heard| matches!(heard, Heard::Owed(arrival) if arrival.id == id);
        if let Some(index) = self.heard.iter().position(is_it) {
            self.heard.remove(index);
        }
        let waiting = self.waiting.iter().find(|(_, waiting)| **waiting == id);
        if let Some((&message, _)) = waiting {
            self.waiting.remove(&message);
            self.tell(News::Withdrawn { message });
        }
    }

    fn place(&mut self, op: OpId, offset: u64, bytes: &[u8]) -> bool {
        let start = offset as usize;
        let memory = self.lent.get_mut(&Name::of(op));
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
        _from: Address,
        _channel: u16,
        op: OpId,
        len_bytes: u64,
        result: Result<(), OpError>,
    ) {
        for granted in &mut self.granted {
            *granted = granted.filter(|granted| granted.op != op);
        }
        let name = Name::of(op);
        let mut bytes = self.lent.remove(&name).unwrap_or_default();
        bytes.truncate(len_bytes as usize);
        if let Name::Message(message) = name {
            let result = result.map(|()| bytes).map_err(failure);
            self.tell(News::Received { message, result });
        }
    }

    fn sent(
        &mut self,
        _to: Address,
        _channel: u16,
        op: OpId,
        _len_bytes: u64,
        result: Result<(), OpError>,
    ) {
        self.end(op, 0, result);
    }

    fn rma_done(
        &mut self,
        _peer: Address,
        _window: u16,
        op: OpId,
        value: u64,
        result: Result<(), OpError>,
    ) {
        self.end(op, value, result);
    }

    fn window_put(&mut self, _from: Address, put: WindowPut, bytes: &[u8]) -> Result<(), Refusal> {
        self.window(put.window, put.offset, bytes.len())?
            .copy_from_slice(bytes);
        Ok(())
    }

    fn window_written(&mut self, _from: Address, window: u16, start: u64, len_bytes: u64) {
        let is_there = self.window(window, start, len_bytes as usize).is_ok();
        assert!(is_there, "a notice of what cannot have been written");
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
        into.copy_from_slice(self.window(window, offset, into.len())?);
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
        self.tell(News::PeerUp(seat(peer)));
    }

    fn peer_gone(&mut self, peer: Address, cause: Cause) {
        self.tell(News::PeerGone(seat(peer), cause.to_string()));
    }
}

fn failure(error: OpError) -> Failure {
    match error {
        OpError::Truncated { .. } => Failure::Truncated,
        other => Failure::Peer(other.to_string()),
    }
}
