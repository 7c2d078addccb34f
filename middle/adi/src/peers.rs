//! What an endpoint knows of each peer.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::{Index, IndexMut};

use bcl_raw::slab::Id;
use bcl_types::{Address, OpError};

use crate::credit::{Credit, Grant};
use crate::engine::{InOrder, Reply, Request};
use crate::matching::{PeerNumber, Seeded};

/// One peer: a few cache lines, whatever waits.
#[derive(Debug)]
pub struct Peer {
    pub address: Address,
    /// Counts its ends: what was there before has no credit to return after.
    pub life: u32,
    pub credit: Credit,
    pub grant: Grant,
    /// System messages to it that have not left.
    pub queued: u32,
    /// Bodies to it that are under way, and were not asked for.
    pub unasked: u32,
    /// Messages that it was asked for and that are not here yet.
    pub asked: u32,
    /// Its messages that have met multi-receive buffers.
    pub in_order: InOrder,
    /// Short messages that were announced to it, and that it has not asked for: their names, in the order of their turns.
    pub held: BTreeMap<u64, Id>,
    /// What it was asked to do with its memory and has not answered, in that order.
    pub requests: VecDeque<Request>,
    /// Bodies under way for what it was asked to do.
    pub bodies: u32,
    /// What it is to be answered.
    pub replies: VecDeque<Reply>,
    /// Bodies under way for what it has asked for.
    pub served: u32,
    /// What is to be said to it once there is room: in lanes, none of which waits for another.
    pub backlog: [VecDeque<Task>; LANES],
    /// It is among those that are caught up with.
    pub is_waiting: bool,
    /// It has broken the protocol: nothing more is believed of it.
    pub fault: Option<OpError>,
    /// Why messages whose sends are complete were lost, until a send says so.
    pub untold: Option<OpError>,
}

/// Of tasks that wait for the same.
pub const LANES: usize = 4;

impl Peer {
    /// Where a task waits.
    #[inline]
    pub fn lane(&mut self, task: Task) -> &mut VecDeque<Task> {
        let lane = match task {
            Task::Credit | Task::Refuse(_) => 0,
            Task::Ask(_) => 1,
            Task::Answer(_) => 2,
            Task::Push => 3,
        };
        &mut self.backlog[lane]
    }

    pub fn has_backlog(&self) -> bool {
        !self.replies.is_empty() || self.backlog.iter().any(|lane| !lane.is_empty())
    }
}

/// What waits for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Tell the peer its limit.
    Credit,
    /// Ask for a message that has met a receive.
    Ask(Id),
    /// Say that the message of that name is not wanted.
    Refuse(u64),
    /// Send what was asked for.
    Answer(Id),
    /// Send what was not asked for and has credit now.
    Push,
}

/// All peers that an endpoint has heard of, by number and by address.
#[derive(Debug, Default)]
pub struct Peers {
    peers: Vec<Peer>,
    numbers: HashMap<u64, PeerNumber, Seeded>,
    /// Who was asked for last: who is sent to answers mostly, and who receives goes on with the sender.
    last: Option<(u64, PeerNumber)>,
}

impl Peers {
    /// The number of the peer with this address, which it gets now if it has none.
    #[inline]
    pub fn number_of(&mut self, address: Address) -> PeerNumber {
        let word = word_of(address);
        match self.last {
            Some((last, number)) if last == word => number,
            _ => {
                let number = self.look_up(address, word);
                self.last = Some((word, number));
                number
            }
        }
    }

    fn look_up(&mut self, address: Address, word: u64) -> PeerNumber {
        let Self { peers, numbers, .. } = self;
        *numbers.entry(word).or_insert_with(|| {
            peers.push(Peer {
                address,
                life: 0,
                credit: Credit::default(),
                grant: Grant::default(),
                queued: 0,
                unasked: 0,
                asked: 0,
                in_order: InOrder::default(),
                held: BTreeMap::new(),
                requests: VecDeque::new(),
                bodies: 0,
                replies: VecDeque::new(),
                served: 0,
                backlog: Default::default(),
                is_waiting: false,
                fault: None,
                untold: None,
            });
            (peers.len() - 1) as PeerNumber
        })
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Peer> {
        self.peers.iter()
    }

    /// The same, with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (PeerNumber, &Peer)> {
        (0..).zip(&self.peers)
    }
}

/// An address as one word, which is quicker to hash.
#[inline]
pub fn word_of(address: Address) -> u64 {
    u64::from(u32::from(address.node)) << 16 | u64::from(address.port)
}

impl Index<PeerNumber> for Peers {
    type Output = Peer;

    #[inline]
    fn index(&self, number: PeerNumber) -> &Peer {
        &self.peers[number as usize]
    }
}

impl IndexMut<PeerNumber> for Peers {
    #[inline]
    fn index_mut(&mut self, number: PeerNumber) -> &mut Peer {
        &mut self.peers[number as usize]
    }
}
