//! The memory that a program lends, and what the endpoint has said.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use bcl_layout::control::GRANTS;
use bcl_proto::{MessageId, Payload, SystemHandle, Target};
use bcl_types::{Address, Cause, OpError, OpId};

use crate::party::Keys;

/// Something that the endpoint has said, and the program is to hear.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// A system message, to be looked at where it lies.
    System {
        /// From whom.
        from: Address,
        /// Which.
        handle: SystemHandle,
        /// What its sender has given along.
        immediate: u64,
        /// Where it lay when it came.
        place: *const u8,
    },
    /// A message on a normal channel that is to meet a buffer yet: the program was away.
    Owed(Arrival),
    /// A message on a normal channel has met a buffer, or waits for one.
    Arrived {
        /// The message.
        arrival: Arrival,
        /// The name of its buffer, also if that is not there yet.
        op: OpId,
        /// Whether it waits.
        waits: bool,
    },
    /// A message that waited is gone with its sender: what its buffer would have been called.
    Withdrawn(OpId),
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

/// A message on a normal channel that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// From whom.
    pub from: Address,
    /// Which.
    pub id: MessageId,
    /// On which channel.
    pub channel: u16,
    /// How long it is.
    pub len_bytes: u64,
    /// What its sender has given along.
    pub immediate: u64,
}

/// A buffer for a message that comes in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granted {
    /// Our number of the connection.
    pub connection: u32,
    /// The peer's of the message.
    pub message: u32,
    /// The buffer.
    pub op: OpId,
    /// How long the message is.
    pub len_bytes: u64,
}

/// Everything that an endpoint reaches by name, and the ear of its program. The endpoint's side of it is in `upcalls`.
pub struct Memory {
    /// Where the ports of other seats are, and this one's.
    pub addresses: Vec<SocketAddr>,
    /// The keys of ports that have others than this one.
    pub keys: Keys,
    /// The longest datagram that the route takes, as far as this host knows.
    pub route_bytes: Option<u16>,
    /// What peers may reach.
    pub windows: BTreeMap<u16, Vec<u8>>,
    /// Whether they may only read it.
    pub read_only: bool,
    /// Whether the program hears of what they write.
    pub hears_of_writes: bool,
    /// How many events may wait for the program before the port takes nothing more in.
    pub most_events: usize,
    /// The program computes, and somebody else receives for it: it gives buffers to messages only when it looks.
    pub looks_later: bool,
    /// Whether the immediate data of messages follow from their contents, as programs have them that know nothing better.
    pub immediates_follow: bool,
    /// What has ended and has not been taken.
    pub back: BTreeMap<OpId, Vec<u8>>,
    /// What the program has not heard yet.
    pub heard: VecDeque<Heard>,
    /// Buffers that an interface program may write into.
    pub granted: [Option<Granted>; GRANTS],
    pub(super) lent: BTreeMap<OpId, Vec<u8>>,
    posts: BTreeMap<u16, VecDeque<Target>>,
    /// Buffers for messages on normal channels by their senders and immediate data, of programs that give them so.
    named: BTreeMap<(Address, u64), Target>,
    /// Messages on normal channels that wait for a buffer, by its name.
    pub(super) waiting: BTreeMap<OpId, Arrival>,
    /// What the senders of the messages that come in have given along, by the names of the buffers.
    pub(super) immediates: BTreeMap<OpId, u64>,
    last_op: OpId,
}

impl Memory {
    /// Of a program that knows these ports, by seat, and hears of everything at once.
    pub fn new(addresses: Vec<SocketAddr>) -> Self {
        Self {
            addresses,
            keys: Keys::default(),
            route_bytes: None,
            windows: BTreeMap::new(),
            read_only: false,
            hears_of_writes: false,
            most_events: usize::MAX,
            looks_later: false,
            immediates_follow: true,
            back: BTreeMap::new(),
            heard: VecDeque::new(),
            granted: [None; GRANTS],
            lent: BTreeMap::new(),
            posts: BTreeMap::new(),
            named: BTreeMap::new(),
            waiting: BTreeMap::new(),
            immediates: BTreeMap::new(),
            last_op: 0,
        }
    }

    /// A name for an operation.
    pub fn new_op(&mut self) -> OpId {
        self.last_op += 1;
        self.last_op
    }

    /// Lends memory to an operation that gets its name here.
    pub fn lend(&mut self, bytes: Vec<u8>) -> OpId {
        let op = self.new_op();
        self.lend_as(op, bytes);
        op
    }

    /// Lends memory to an operation.
    pub fn lend_as(&mut self, op: OpId, bytes: Vec<u8>) {
        self.lent.insert(op, bytes);
    }

    /// The bytes that a packet takes out of lent memory.
    pub fn lent(&self, payload: &Payload) -> Option<&[u8]> {
        let &Payload::Lent {
            op,
            offset,
            len_bytes,
        } = payload
        else {
            return None;
        };
        let start = offset as usize;
        let memory = self.lent.get(&op)?;
        memory.get(start..start + usize::from(len_bytes))
    }

    /// Gives a buffer to whatever comes next on a channel.
    pub fn post(&mut self, channel: u16, capacity_bytes: usize) -> OpId {
        let op = self.new_op();
        self.posts.entry(channel).or_default().push_back(Target {
            op,
            capacity_bytes: capacity_bytes as u64,
        });
        op
    }

    /// Gives a buffer to the message of this peer that comes with these immediate data.
    pub fn post_named(&mut self, from: Address, immediate: u64, capacity_bytes: usize) -> OpId {
        let op = self.new_op();
        let target = Target {
            op,
            capacity_bytes: capacity_bytes as u64,
        };
        self.named.insert((from, immediate), target);
        op
    }

    /// Takes such a buffer back, if no message has met it.
    pub fn take_back_named(&mut self, from: Address, immediate: u64) -> Option<OpId> {
        let target = self.named.remove(&(from, immediate));
        target.map(|target| target.op)
    }

    /// How many such buffers have met no message.
    pub fn named(&self) -> usize {
        self.named.len()
    }

    /// The message of this peer with these immediate data, if it waits.
    pub fn waiting_named(&self, from: Address, immediate: u64) -> Option<OpId> {
        let is_it = |arrival: &Arrival| (arrival.from, arrival.immediate) == (from, immediate);
        let mut waiting = self.waiting.iter();
        let (op, _) = waiting.find(|(_, arrival)| is_it(arrival))?;
        Some(*op)
    }

    /// The first message that waits for a buffer on a channel.
    pub fn first_waiting(&self, channel: u16) -> Option<OpId> {
        let mut waiting = self.waiting.iter();
        let (op, _) = waiting.find(|(_, arrival)| arrival.channel == channel)?;
        Some(*op)
    }

    /// All that the program has not heard.
    pub fn take(&mut self) -> Vec<Heard> {
        self.heard.drain(..).collect()
    }

    /// How much of that is such.
    pub fn count(&self, wanted: impl Fn(&Heard) -> bool) -> usize {
        self.heard.iter().filter(|heard| wanted(heard)).count()
    }

    pub(super) fn tell(&mut self, heard: Heard) {
        self.heard.push_back(heard);
    }

    /// The buffer for a message, if one is posted, else it waits; and what the program is told.
    pub(super) fn meet(&mut self, arrival: Arrival) -> (Heard, Option<Target>) {
        let named = self.named.remove(&(arrival.from, arrival.immediate));
        let posts = self.posts.get_mut(&arrival.channel);
        let target = named.or_else(|| posts.and_then(VecDeque::pop_front));
        let op = match target {
            Some(target) => {
                self.lend_as(target.op, vec![0; target.capacity_bytes as usize]);
                target.op
            }
            None => {
                let op = self.new_op();
                self.waiting.insert(op, arrival);
                op
            }
        };
        self.immediates.insert(op, arrival.immediate);
        let waits = target.is_none();
        let heard = Heard::Arrived { arrival, op, waits };
        (heard, target)
    }

    /// The endpoint is done with the memory of an operation.
    pub(super) fn give_back(&mut self, op: OpId) {
        if let Some(bytes) = self.lent.remove(&op) {
            self.back.insert(op, bytes);
        }
    }
}
