//! A program that notes what its tier tells it, and objects to what no tier may tell.

use std::collections::{HashSet, VecDeque};

use bcl_tier::{Arrival, LinkInfo, MessageId, SystemHandle, Target, Upcalls};
use bcl_types::{Address, Cause, OpError, OpId};

/// What a program was told. Messages are numbered by their immediate data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    System(u64),
    Arrived(u64),
    Withdrawn(u16),
    Received(OpId, Result<(), OpError>),
    Sent(OpId, Result<(), OpError>),
    RmaDone(OpId, Result<(), OpError>),
    RmaArrived(u64),
    Up,
    Gone(Cause),
    Unreached,
}

/// A program with one peer.
#[derive(Debug)]
pub struct Program {
    /// In the order in which it was told.
    pub told: Vec<Told>,
    /// It takes no more arrivals than this for now.
    pub told_max: usize,
    /// System messages that it has not given back.
    pub held: Vec<SystemHandle>,
    /// Messages that wait for a buffer.
    pub waiting: VecDeque<MessageId>,
    /// Buffers that wait for a message.
    pub posts: VecDeque<Target>,
    under_way: HashSet<OpId>,
    operations: OpId,
}

impl Default for Program {
    fn default() -> Self {
        Self {
            told: Vec::new(),
            told_max: usize::MAX,
            held: Vec::new(),
            waiting: VecDeque::new(),
            posts: VecDeque::new(),
            under_way: HashSet::new(),
            operations: 0,
        }
    }
}

impl Program {
    /// Names an operation.
    pub fn begin(&mut self) -> OpId {
        self.operations += 1;
        self.under_way.insert(self.operations);
        self.operations
    }

    /// An operation has not begun after all.
    pub fn take_back(&mut self, op: OpId) {
        self.end(op);
    }

    /// Operations that have not ended, but for posts that no message has met.
    pub fn under_way(&self) -> usize {
        self.under_way.len() - self.posts.len()
    }

    /// Whether it was told this.
    pub fn heard(&self, told: Told) -> bool {
        self.told.contains(&told)
    }

    /// How its peer went, if it did.
    pub fn farewell(&self) -> Option<Cause> {
        self.told.iter().find_map(|told| match told {
            Told::Gone(cause) => Some(*cause),
            _ => None,
        })
    }

    /// The numbers of messages of one kind.
    pub fn numbers(&self, pick: impl Fn(&Told) -> Option<u64>) -> Vec<u64> {
        self.told.iter().filter_map(pick).collect()
    }

    fn end(&mut self, op: OpId) {
        assert!(
            self.under_way.remove(&op),
            "operation {op} has ended twice, or never began: {:?}",
            self.told
        );
    }

    fn nothing_pends(&self) {
        assert_eq!(self.under_way(), 0, "not all has ended: {:?}", self.told);
    }
}

impl Upcalls for Program {
    fn is_full(&self) -> bool {
        self.told.len() >= self.told_max
    }

    fn system(&mut self, _: Address, message: SystemHandle) {
        self.told.push(Told::System(message.immediate));
        self.held.push(message);
    }

    fn arrived(&mut self, arrival: &Arrival) -> Option<Target> {
        self.told.push(Told::Arrived(arrival.immediate));
        let target = self.posts.pop_front();
        if target.is_none() {
            self.waiting.push_back(arrival.message);
        }
        target
    }

    fn withdrawn(&mut self, message: MessageId, channel: u16) {
        let place = self.waiting.iter().position(|other| *other == message);
        assert!(
            place.and_then(|place| self.waiting.remove(place)).is_some(),
            "withdrawn, though it did not wait: {:?}",
            self.told
        );
        self.told.push(Told::Withdrawn(channel));
    }

    fn received(&mut self, _: Address, _: u16, op: OpId, _: u64, result: Result<(), OpError>) {
        self.end(op);
        self.told.push(Told::Received(op, result));
    }

    fn sent(&mut self, _: Address, _: u16, op: OpId, _: u64, result: Result<(), OpError>) {
        self.end(op);
        self.told.push(Told::Sent(op, result));
    }

    fn rma_done(&mut self, _: Address, _: u16, op: OpId, _: u64, result: Result<(), OpError>) {
        self.end(op);
        self.told.push(Told::RmaDone(op, result));
    }

    fn rma_arrived(&mut self, _: Address, _: u16, offset: u64, _: u64) {
        self.told.push(Told::RmaArrived(offset));
    }

    fn peer_up(&mut self, _: Address, _: &LinkInfo) {
        self.told.push(Told::Up);
    }

    fn peer_gone(&mut self, _: Address, cause: Cause) {
        self.nothing_pends();
        assert_eq!(self.farewell(), None, "gone twice");
        self.told.push(Told::Gone(cause));
    }

    fn peer_unreached(&mut self, _: Address) {
        self.nothing_pends();
        self.told.push(Told::Unreached);
    }
}
