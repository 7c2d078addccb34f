//! Ends: of messages under way, of receives, of peers.

use bcl_raw::slab::Id;
use bcl_types::{Address, Cause, OpError};

use super::meeting::{Goal, Lies};
use super::receiving::too_long;
use super::sending::Purpose;
use super::{Completion, Ended, Engine};
use crate::carrier::Carrier;
use crate::credit::{Credit, Grant};
use crate::error::Error;
use crate::header::{Comes, SPACES};
use crate::matching::PeerNumber;
use crate::peers::Task;

impl Engine {
    /// A system message of that life of the peer that could not leave at once has left, or never will.
    pub fn system_sent<C: Carrier>(
        &mut self,
        carrier: &mut C,
        to: Address,
        life: u32,
        result: Result<(), OpError>,
    ) -> Result<(), Error> {
        let to = self.peers.number_of(to);
        let peer = &mut self.peers[to];
        if peer.life != life {
            return Ok(());
        }
        peer.queued -= 1;
        match result {
            Ok(()) => Ok(()),
            // What follows it would be out of order.
            Err(error) => self.end_peer(carrier, to, error),
        }
    }

    /// A body is in the receiver's memory, or never will be.
    pub fn body_sent(&mut self, name: Id, result: Result<(), OpError>) {
        let Some(outgoing) = self.outgoing.get(name) else {
            return;
        };
        let result = match (&outgoing.purpose, result) {
            (Purpose::Put(_), result) => match self.put_ended(name, result) {
                Some(result) => result,
                None => return,
            },
            // The receive was shorter, or the message was discarded: that is the receiver's affair.
            (_, Err(OpError::Truncated { .. })) => Ok(()),
            (_, result) => result,
        };
        self.end_outgoing(name, result);
    }

    /// A message that was announced is done with.
    pub(super) fn end_outgoing(&mut self, name: Id, result: Result<(), OpError>) {
        let Some(outgoing) = self.outgoing.remove(name) else {
            return;
        };
        self.hold_no_more(outgoing.to, outgoing.turn);
        let peer = &mut self.peers[outgoing.to];
        let is_of_this_life = peer.life == outgoing.life;
        if outgoing.comes == Comes::Unasked {
            self.unasked -= 1;
            peer.unasked -= u32::from(is_of_this_life);
        }
        if let Some(kept) = &outgoing.kept {
            self.kept -= 1;
            self.kept_bytes -= kept.len();
        }
        let (kind, space, tag) = match outgoing.purpose {
            Purpose::Message { .. } if outgoing.kept.is_some() => {
                if let Err(error) = result {
                    self.tell_lost(outgoing.to, error);
                }
                return;
            }
            Purpose::Serve { .. } => {
                peer.served -= u32::from(is_of_this_life);
                return;
            }
            Purpose::Message { space, tag } => (Ended::Send, space, tag),
            Purpose::Put(_) => {
                peer.bodies -= u32::from(is_of_this_life);
                (Ended::Put, 0, 0)
            }
        };
        if outgoing.quiet && result.is_ok() {
            return;
        }
        let context = (outgoing.context, outgoing.mark);
        self.completions.push_back(Completion {
            space,
            tag,
            len_bytes: outgoing.memory.len_bytes() as u64,
            result,
            ..Completion::new(kind, self.peers[outgoing.to].address, context)
        });
    }

    /// A message is lost whose send is complete. Of several, the program is told together ([ADI-6.3]).
    fn tell_lost(&mut self, number: PeerNumber, error: OpError) {
        let peer = &mut self.peers[number];
        let is_first = peer.untold.replace(error).is_none();
        if is_first {
            self.completions.push_back(Completion {
                result: Err(error),
                ..Completion::new(Ended::Lost, peer.address, (0, 0))
            });
        }
    }

    /// A body has come, or never will.
    pub fn body_received(&mut self, id: Id, result: Result<(), OpError>) {
        let Some(incoming) = self.incoming.remove(id) else {
            return;
        };
        let (from, len_bytes) = (incoming.from, incoming.len_bytes);
        let peer = &mut self.peers[from];
        let is_of_this_life = peer.life == incoming.life;
        if incoming.is_asked && is_of_this_life {
            peer.asked -= 1;
        }
        match incoming.goal {
            Goal::Receive {
                tag,
                envelope,
                slot: Some(slot),
            } => {
                let result = match result {
                    Err(OpError::Truncated { .. }) => Err(too_long(len_bytes, &slot)),
                    result => result,
                };
                self.received(from, tag, envelope, len_bytes, slot, result);
            }
            Goal::Receive { slot: None, .. } => {}
            Goal::Get(request) => {
                peer.bodies -= u32::from(is_of_this_life);
                let address = peer.address;
                self.request_ended(address, &request, result);
            }
            Goal::Put { place, data } => {
                peer.served -= u32::from(is_of_this_life);
                if place.is_some() && result.is_ok() {
                    self.tell_written(from, data, len_bytes);
                }
            }
        }
    }

    /// A connection is up: the peer gets credit.
    pub fn peer_up<C: Carrier>(&mut self, carrier: &mut C, peer: Address) -> Result<(), Error> {
        let number = self.peers.number_of(peer);
        let peer = &mut self.peers[number];
        peer.fault = None;
        if peer.grant.window() > 0 {
            return Ok(());
        }
        peer.grant = Grant::new(self.budget.take());
        self.attempt(carrier, number, Task::Credit)
    }

    /// A peer is gone.
    pub fn peer_gone<C: Carrier>(
        &mut self,
        carrier: &mut C,
        peer: Address,
        cause: Cause,
    ) -> Result<(), Error> {
        let number = self.peers.number_of(peer);
        self.end_peer(carrier, number, cause.into())?;
        self.peers[number].fault = None;
        Ok(())
    }

    /// Ends all that is pending with a peer ([ADI-6.1]). What has come from it whole can still be received.
    pub(super) fn end_peer<C: Carrier>(
        &mut self,
        carrier: &mut C,
        number: PeerNumber,
        error: OpError,
    ) -> Result<(), Error> {
        let peer = &mut self.peers[number];
        peer.backlog.iter_mut().for_each(|lane| lane.clear());
        peer.life = peer.life.wrapping_add(1);
        peer.credit = Credit::default();
        (peer.queued, peer.unasked, peer.asked) = (0, 0, 0);
        (peer.bodies, peer.served) = (0, 0);
        peer.replies.clear();
        // What has come from it whole still takes its room, until it has met a receive.
        self.budget
            .give_back(peer.grant.window() - peer.grant.charged());
        peer.grant = Grant::default();
        self.announced.retain(|(from, _), _| *from != number);
        self.end_requests(number, error);
        self.end_sends(number, error);
        self.end_receives(carrier, number, error);
        for space in 0..SPACES as u8 {
            self.withdraw(space, number, error);
        }
        self.end_claimed(number, error);
        Ok(())
    }

    fn end_requests(&mut self, number: PeerNumber, error: OpError) {
        let peer = &mut self.peers[number];
        let (address, requests) = (peer.address, std::mem::take(&mut peer.requests));
        self.requests -= requests.len();
        for request in requests {
            self.request_ended(address, &request, Err(error));
        }
    }

    /// Those that the carrier has end by themselves.
    fn end_sends(&mut self, number: PeerNumber, error: OpError) {
        let sends = self.outgoing.iter();
        let names: Vec<Id> = sends
            .filter(|(_, outgoing)| outgoing.to == number && !outgoing.is_leaving)
            .map(|(name, _)| name)
            .collect();
        for name in names {
            self.end_outgoing(name, Err(error));
        }
    }

    /// Those whose body the carrier has met end by themselves.
    fn end_receives<C: Carrier>(&mut self, carrier: &mut C, number: PeerNumber, error: OpError) {
        let address = self.peers[number].address;
        let of_peer = self
            .incoming
            .iter()
            .filter(|(_, incoming)| incoming.from == number);
        let found: Vec<(Id, u64, bool)> = of_peer
            .map(|(id, incoming)| (id, incoming.name, incoming.is_expected))
            .collect();
        for (id, name, is_expected) in found {
            if !is_expected || carrier.take_back(address, name) {
                self.body_received(id, Err(error));
            }
        }
    }

    /// Receives that want this peer alone end, and messages that lie with it are no more.
    fn withdraw(&mut self, space: u8, number: PeerNumber, error: OpError) {
        let books = &mut self.spaces[usize::from(space)];
        let posted: Vec<Id> = books
            .posted
            .find(|pattern, _| pattern.source == Some(number))
            .collect();
        let lies_there = |from, lies: &Lies| from == number && matches!(lies, Lies::There(..));
        let messages: Vec<Id> = books
            .unexpected
            .find(|from, message| lies_there(from, &message.lies))
            .collect();
        for id in messages {
            books.unexpected.remove(id);
        }
        for id in posted {
            let books = &mut self.spaces[usize::from(space)];
            if let Some((pattern, waiting)) = books.posted.remove(id) {
                self.end_waiting(space, &pattern, waiting, error);
            }
        }
    }

    /// Who has claimed a message is told when it receives it.
    fn end_claimed(&mut self, number: PeerNumber, error: OpError) {
        for claimed in self.claimed.iter_mut() {
            if claimed.from == number && matches!(claimed.message.lies, Lies::There(..)) {
                claimed.message.lies = Lies::Gone(error);
            }
        }
    }
}
