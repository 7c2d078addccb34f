//! A program's side of an endpoint: memory by name, matching, and all that it is told.

use std::collections::{BTreeMap, VecDeque};

use bcl_proto::{
    Endpoint, MessageId, Path, Payload, SystemHandle, Target, Time, Upcalls, WindowPut,
};
use bcl_types::{Address, Atomic, Cause, OpError, OpId, Refusal};

/// What a program is told.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// A system message.
    System(Address, SystemHandle),
    /// The end of a post.
    Received {
        /// Sender.
        from: Address,
        /// On which channel.
        channel: u16,
        /// Names the buffer.
        op: OpId,
        /// Length of the message.
        len_bytes: u64,
        /// How it went.
        result: Result<(), OpError>,
    },
    /// The end of a send: its name, its length, how it went.
    Sent(OpId, u64, Result<(), OpError>),
    /// The end of a one-sided operation: its name, what it found, how it went.
    Rma(OpId, u64, Result<(), OpError>),
    /// A peer has written: where, and how much.
    Put(u64, u64),
    /// The interface program has, for a peer: in which window, where, and how much.
    Written(u16, u64, u64),
    /// A connection is up.
    Up(Address),
    /// A connection is gone.
    Gone(Address, Cause),
}

/// See the module.
#[derive(Default)]
pub struct Port {
    /// What it was told and has not taken.
    pub news: VecDeque<News>,
    /// What it has lent.
    pub memory: BTreeMap<OpId, Vec<u8>>,
    posts: BTreeMap<u16, VecDeque<Target>>,
    waiting: BTreeMap<u16, VecDeque<MessageId>>,
    /// What peers may reach.
    pub windows: BTreeMap<u16, Vec<u8>>,
    /// Whether they may only read it.
    pub read_only: bool,
    /// The name given last.
    pub next_op: OpId,
    /// Whether no more events are taken.
    pub is_full: bool,
    /// Whether no way leads to anybody.
    pub unreachable: bool,
    /// The program computes: it gives buffers to no messages.
    pub is_away: bool,
    /// Messages that went with their senders before they met a buffer.
    pub withdrawn: usize,
    /// Connection, message, buffer and length of what may be placed directly.
    pub granted: Vec<(u32, u32, OpId, u64)>,
    /// What the route takes, as far as this host knows.
    pub route_bytes: Option<u16>,
}

impl Port {
    /// A name for an operation.
    pub fn new_op(&mut self) -> OpId {
        self.next_op += 1;
        self.next_op
    }

    /// Lends memory; its name.
    pub fn lend(&mut self, bytes: Vec<u8>) -> OpId {
        let op = self.new_op();
        self.memory.insert(op, bytes);
        op
    }

    /// The payload of a packet, where it was lent.
    pub fn lent(&self, payload: &Payload) -> Option<&[u8]> {
        let Payload::Lent {
            op,
            offset,
            len_bytes,
        } = *payload
        else {
            return None;
        };
        let at = offset as usize;
        self.memory.get(&op)?.get(at..at + usize::from(len_bytes))
    }

    /// Posts a buffer of this length on a channel.
    pub fn post(&mut self, channel: u16, len: usize) -> OpId {
        let op = self.lend(vec![0; len]);
        self.posts.entry(channel).or_default().push_back(Target {
            op,
            capacity_bytes: len as u64,
        });
        op
    }

    /// Buffers meet messages that waited.
    pub fn meet_waiting(&mut self, now: Time, endpoint: &mut Endpoint) {
        if self.is_away {
            return;
        }
        let channels: Vec<u16> = self.waiting.keys().copied().collect();
        for channel in channels {
            while self.waiting.get(&channel).is_some_and(|w| !w.is_empty())
                && self.posts.get(&channel).is_some_and(|p| !p.is_empty())
            {
                let message = self.waiting.get_mut(&channel).unwrap().pop_front().unwrap();
                let target = self.posts.get_mut(&channel).unwrap().pop_front().unwrap();
                assert!(endpoint.accept(now, message, target, self));
            }
        }
    }

    /// All news.
    pub fn take(&mut self) -> Vec<News> {
        self.news.drain(..).collect()
    }

    /// How many of its news are such.
    pub fn count(&self, wanted: impl Fn(&News) -> bool) -> usize {
        self.news.iter().filter(|news| wanted(news)).count()
    }
}

impl Upcalls for Port {
    fn path_to(&mut self, peer: Address) -> Option<Path> {
        let host = usize::from(peer.node.0.octets()[3]) - 1;
        (!self.unreachable).then(|| crate::path(host))
    }

    fn datagram_bytes(&mut self, _: Path) -> Option<u16> {
        self.route_bytes
    }

    fn is_full(&self) -> bool {
        self.is_full
    }

    fn owes_arrivals(&self) -> bool {
        self.is_away && self.waiting.values().any(|waiting| !waiting.is_empty())
    }

    fn system(&mut self, from: Address, message: SystemHandle, _: &[u8]) {
        self.news.push_back(News::System(from, message));
    }

    fn arrived(
        &mut self,
        _from: Address,
        message: MessageId,
        channel: u16,
        _len_bytes: u64,
    ) -> Option<Target> {
        let posts = self.posts.get_mut(&channel).filter(|_| !self.is_away);
        if let Some(target) = posts.and_then(VecDeque::pop_front) {
            return Some(target);
        }
        self.waiting.entry(channel).or_default().push_back(message);
        None
    }

    fn withdrawn(&mut self, message: MessageId, channel: u16) {
        let waiting = self.waiting.get_mut(&channel).unwrap();
        let before = waiting.len();
        waiting.retain(|other| *other != message);
        assert_eq!(waiting.len() + 1, before);
        self.withdrawn += 1;
    }

    fn place(&mut self, op: OpId, offset: u64, bytes: &[u8]) -> bool {
        let at = offset as usize;
        let place = self
            .memory
            .get_mut(&op)
            .and_then(|memory| memory.get_mut(at..at + bytes.len()));
        place.is_some_and(|place| {
            place.copy_from_slice(bytes);
            true
        })
    }

    fn fetch(&mut self, op: OpId, offset: u64, into: &mut [u8]) -> bool {
        let at = offset as usize;
        let memory = self.memory.get(&op);
        let bytes = memory.and_then(|memory| memory.get(at..at + into.len()));
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
        self.news.push_back(News::Received {
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
        self.memory.remove(&op);
        self.news.push_back(News::Sent(op, len_bytes, result));
    }

    fn rma_done(
        &mut self,
        _peer: Address,
        _window: u16,
        op: OpId,
        value: u64,
        result: Result<(), OpError>,
    ) {
        self.news.push_back(News::Rma(op, value, result));
    }

    fn window_put(&mut self, _from: Address, put: WindowPut, bytes: &[u8]) -> Result<(), Refusal> {
        if self.read_only {
            return Err(Refusal::Denied);
        }
        let memory = self.windows.get_mut(&put.window).ok_or(Refusal::NoWindow)?;
        let end = put.start.checked_add(put.len_bytes).ok_or(Refusal::Range)?;
        if end > memory.len() as u64 {
            return Err(Refusal::Range);
        }
        let at = put.offset as usize;
        let place = memory.get_mut(at..at + bytes.len()).ok_or(Refusal::Range)?;
        place.copy_from_slice(bytes);
        if put.is_last {
            self.news.push_back(News::Put(put.start, put.len_bytes));
        }
        Ok(())
    }

    fn granted(&mut self, connection: u32, message: u32, op: OpId, len_bytes: u64) {
        self.granted.push((connection, message, op, len_bytes));
    }

    fn window_written(&mut self, _: Address, window: u16, start: u64, len_bytes: u64) {
        self.news.push_back(News::Written(window, start, len_bytes));
    }

    fn window_get(
        &mut self,
        _from: Address,
        window: u16,
        offset: u64,
        into: &mut [u8],
    ) -> Result<(), Refusal> {
        let memory = self.windows.get(&window).ok_or(Refusal::NoWindow)?;
        let at = usize::try_from(offset).map_err(|_| Refusal::Range)?;
        let end = at.checked_add(into.len()).ok_or(Refusal::Range)?;
        into.copy_from_slice(memory.get(at..end).ok_or(Refusal::Range)?);
        Ok(())
    }

    fn window_atomic(
        &mut self,
        _from: Address,
        window: u16,
        offset: u64,
        atomic: Atomic,
    ) -> Result<u64, Refusal> {
        let memory = self.windows.get_mut(&window).ok_or(Refusal::NoWindow)?;
        let at = offset as usize;
        let place = memory.get_mut(at..at + 8).ok_or(Refusal::Range)?;
        let old = u64::from_le_bytes(place.try_into().unwrap());
        let new = match atomic {
            Atomic::FetchAdd(value) => old.wrapping_add(value),
            Atomic::CompareSwap { expected, new } if old == expected => new,
            Atomic::CompareSwap { .. } => old,
        };
        place.copy_from_slice(&new.to_le_bytes());
        Ok(old)
    }

    fn peer_up(&mut self, peer: Address) {
        self.news.push_back(News::Up(peer));
    }

    fn peer_gone(&mut self, peer: Address, cause: Cause) {
        self.news.push_back(News::Gone(peer, cause));
    }
}
