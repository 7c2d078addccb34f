//! What happens while the program computes: kept in order until its next call on the port.

use std::collections::VecDeque;

use bcl_tier::{Arrival, LinkInfo, MessageId, SystemHandle, Target, Upcalls};
use bcl_types::{Address, Cause, OpError, OpId};

/// News kept; beyond that arrivals stay with the protocol, which delays their senders.
pub const NEWS_MAX: usize = 1024;

/// One upcall that could not be made yet.
#[derive(Debug)]
enum News {
    System(Address, SystemHandle),
    Arrived(Arrival),
    Withdrawn(MessageId, u16),
    Received(Address, u16, OpId, u64, Result<(), OpError>),
    Sent(Address, u16, OpId, u64, Result<(), OpError>),
    RmaDone(Address, u16, OpId, u64, Result<(), OpError>),
    RmaArrived(Address, u16, u64, u64),
    Up(Address, LinkInfo),
    Gone(Address, Cause),
    Unreached(Address),
}

/// News that the program has not heard.
#[derive(Debug, Default)]
pub struct Deferred(VecDeque<News>);

impl Deferred {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells the port what has happened. `matched` gets the messages that met a buffer only now.
    pub fn replay(&mut self, up: &mut impl Upcalls, mut matched: impl FnMut(MessageId, Target)) {
        while let Some(news) = self.0.pop_front() {
            match news {
                News::System(from, message) => up.system(from, message),
                News::Arrived(arrival) => {
                    if let Some(target) = up.arrived(&arrival) {
                        matched(arrival.message, target);
                    }
                }
                News::Withdrawn(message, channel) => up.withdrawn(message, channel),
                News::Received(from, channel, op, len_bytes, result) => {
                    up.received(from, channel, op, len_bytes, result);
                }
                News::Sent(to, channel, op, len_bytes, result) => {
                    up.sent(to, channel, op, len_bytes, result);
                }
                News::RmaDone(peer, window, op, value, result) => {
                    up.rma_done(peer, window, op, value, result);
                }
                News::RmaArrived(from, window, offset, len_bytes) => {
                    up.rma_arrived(from, window, offset, len_bytes);
                }
                News::Up(peer, info) => up.peer_up(peer, &info),
                News::Gone(peer, cause) => up.peer_gone(peer, cause),
                News::Unreached(peer) => up.peer_unreached(peer),
            }
        }
    }
}

impl Upcalls for Deferred {
    fn is_full(&self) -> bool {
        self.0.len() >= NEWS_MAX
    }

    fn owes_arrivals(&self) -> bool {
        self.0.iter().any(|news| matches!(news, News::Arrived(..)))
    }

    fn system(&mut self, from: Address, message: SystemHandle) {
        self.0.push_back(News::System(from, message));
    }

    fn arrived(&mut self, arrival: &Arrival) -> Option<Target> {
        self.0.push_back(News::Arrived(*arrival));
        None
    }

    fn withdrawn(&mut self, message: MessageId, channel: u16) {
        let is_it =
            |news: &News| matches!(news, News::Arrived(arrival) if arrival.message == message);
        // If the program has not heard of it, it never will.
        match self.0.iter().position(is_it) {
            Some(index) => drop(self.0.remove(index)),
            None => self.0.push_back(News::Withdrawn(message, channel)),
        }
    }

    fn received(
        &mut self,
        from: Address,
        channel: u16,
        op: OpId,
        len_bytes: u64,
        result: Result<(), OpError>,
    ) {
        self.0
            .push_back(News::Received(from, channel, op, len_bytes, result));
    }

    fn sent(
        &mut self,
        to: Address,
        channel: u16,
        op: OpId,
        len_bytes: u64,
        result: Result<(), OpError>,
    ) {
        self.0
            .push_back(News::Sent(to, channel, op, len_bytes, result));
    }

    fn rma_done(
        &mut self,
        peer: Address,
        window: u16,
        op: OpId,
        value: u64,
        result: Result<(), OpError>,
    ) {
        self.0
            .push_back(News::RmaDone(peer, window, op, value, result));
    }

    fn rma_arrived(&mut self, from: Address, window: u16, offset: u64, len_bytes: u64) {
        self.0
            .push_back(News::RmaArrived(from, window, offset, len_bytes));
    }

    fn peer_up(&mut self, peer: Address, info: &LinkInfo) {
        self.0.push_back(News::Up(peer, info.clone()));
    }

    fn peer_gone(&mut self, peer: Address, cause: Cause) {
        self.0.push_back(News::Gone(peer, cause));
    }

    fn peer_unreached(&mut self, peer: Address) {
        self.0.push_back(News::Unreached(peer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Program, Told};
    use bcl_tier::Pieces;
    use bcl_types::{Device, NodeId};

    const PEER: Address = Address {
        node: NodeId::LOOPBACK,
        port: 1,
    };

    fn message(number: u32) -> MessageId {
        MessageId {
            device: Device::Udp,
            slot: 0,
            link: 0,
            number,
        }
    }

    fn arrive(deferred: &mut Deferred, number: u32) {
        let met = deferred.arrived(&Arrival {
            message: message(number),
            from: PEER,
            channel: 1,
            len_bytes: 0,
            immediate: number.into(),
        });
        assert!(met.is_none(), "only the program has buffers");
    }

    fn told(deferred: &mut Deferred, program: &mut Program) -> Vec<MessageId> {
        let mut matched = Vec::new();
        deferred.replay(program, |message, _| matched.push(message));
        assert!(deferred.is_empty());
        matched
    }

    #[test]
    fn all_news_is_told_in_order() {
        let (mut deferred, mut program) = (Deferred::default(), Program::default());
        let [send, post, rma] = [(); 3].map(|()| program.begin());
        let device = Device::Udp;
        let copy = String::new();
        deferred.peer_up(PEER, &LinkInfo { device, copy });
        deferred.sent(PEER, 1, send, 0, Err(OpError::Canceled));
        let system = SystemHandle::from_words([1 << 32, 0, 0]).unwrap();
        deferred.system(PEER, system);
        arrive(&mut deferred, 3);
        deferred.rma_arrived(PEER, 1, 4, 8);
        deferred.rma_done(PEER, 1, rma, 0, Ok(()));
        deferred.received(PEER, 1, post, 0, Err(OpError::Fault));
        deferred.peer_gone(PEER, Cause::Closed);
        deferred.peer_unreached(PEER);
        told(&mut deferred, &mut program);
        let in_order = [
            Told::Up,
            Told::Sent(send, Err(OpError::Canceled)),
            Told::System(0),
            Told::Arrived(3),
            Told::RmaArrived(4),
            Told::RmaDone(rma, Ok(())),
            Told::Received(post, Err(OpError::Fault)),
            Told::Gone(Cause::Closed),
            Told::Unreached,
        ];
        assert_eq!(program.told, in_order);
    }

    #[test]
    fn what_is_withdrawn_before_it_was_told_never_was() {
        let (mut deferred, mut program) = (Deferred::default(), Program::default());
        arrive(&mut deferred, 1);
        told(&mut deferred, &mut program);
        assert!(!deferred.owes_arrivals());
        arrive(&mut deferred, 2);
        arrive(&mut deferred, 3);
        deferred.withdrawn(message(2), 1);
        assert!(deferred.owes_arrivals(), "of the third message");
        deferred.withdrawn(message(3), 1);
        assert!(!deferred.owes_arrivals());
        deferred.withdrawn(message(1), 1);
        told(&mut deferred, &mut program);
        assert_eq!(program.told, [Told::Arrived(1), Told::Withdrawn(1)]);
    }

    #[test]
    fn a_message_that_meets_a_buffer_is_handed_over() {
        let (mut deferred, mut program) = (Deferred::default(), Program::default());
        let memory = Pieces::one(std::ptr::null_mut(), 0);
        let op = program.begin();
        program.posts.push_back(Target { memory, op });
        arrive(&mut deferred, 1);
        arrive(&mut deferred, 2);
        assert_eq!(told(&mut deferred, &mut program), [message(1)]);
        assert_eq!(program.waiting, [message(2)]);
    }
}
