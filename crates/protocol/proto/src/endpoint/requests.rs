//! What the program wants.

use std::sync::Arc;

use bcl_types::{Address, OpError, OpId, SYSTEM_MAX};
use bcl_wire::JobKeys;

use super::Endpoint;
use crate::common::Context;
use crate::connection::sending::payload_limit;
use crate::connection::{Connection, Stage};
use crate::message::Class;
use crate::message::queue::Message;
use crate::names::{MessageId, NormalSend, Rma, SystemHandle, Target};
use crate::setup::Attempt;
use crate::slab::Name;
use crate::upcalls::Upcalls;
use bcl_types::Time;

impl Endpoint {
    /// The connection with a peer; a new one says HELLO. `None`: no way leads there.
    #[inline]
    fn reach(&mut self, now: Time, peer: Address, up: &mut impl Upcalls) -> Option<u32> {
        match self.connections.find(peer) {
            Some(place) => Some(place),
            None => self.greet(now, peer, up),
        }
    }

    #[cold]
    fn greet(&mut self, now: Time, peer: Address, up: &mut impl Upcalls) -> Option<u32> {
        if self.common.is_closing {
            return None;
        }
        let Some(path) = up.path_to(peer) else {
            up.peer_unreached(peer);
            return None;
        };
        let stage = Stage::Greeting(self.new_attempt(now));
        let id = self.connections.propose(&mut self.common.secrets);
        let job = self.job_of_peer(peer, up);
        let config = &self.common.config;
        let mut connection = Connection::new(now, id, peer, path, stage, job, config);
        let common = &mut self.common;
        connection.trust_route(&mut Context { now, common, up });
        self.connections.insert(Box::new(connection)).ok()
    }

    /// The keys of a peer's port: those of ours, or of its own.
    fn job_of_peer(&self, peer: Address, up: &mut impl Upcalls) -> Arc<JobKeys> {
        let own = &self.common.keys;
        match up.secret_of(peer) {
            Some(secret) if !own.is_of(&secret) => Arc::new(JobKeys::derive(&secret)),
            _ => Arc::clone(own),
        }
    }

    pub(super) fn new_attempt(&mut self, now: Time) -> Attempt {
        self.attempts += 1;
        Attempt::new(now, self.attempts, self.common.secrets.next())
    }

    /// Longest system message that this peer takes now ([WIRE-6.8]).
    pub fn system_max(&mut self, to: Address) -> usize {
        let connection = self
            .connections
            .find(to)
            .and_then(|place| self.connections.get(place));
        let config = &self.common.config;
        connection.map_or(SYSTEM_MAX, |connection| connection.system_max(config))
    }

    /// Sends a system message of at most [`system_max`](Self::system_max) bytes, and with it 64 bits. True: it is complete, a copy was made.
    /// False: a copy waits under the name that `name` gives it, and `sent` will be called.
    #[inline]
    pub fn send_system<U: Upcalls>(
        &mut self,
        now: Time,
        to: Address,
        data: &[u8],
        immediate: u64,
        up: &mut U,
        name: impl FnOnce(&mut U) -> OpId,
    ) -> bool {
        self.free_spent();
        let len_bytes = data.len() as u64;
        let place = self.reach(now, to, up);
        let Some((place, connection)) = place
            .and_then(|place| Some((place, self.connections.get_mut(place)?)))
            .filter(|(_, connection)| data.len() <= connection.system_max(&self.common.config))
        else {
            let op = name(up);
            up.sent(to, 0, op, len_bytes, Err(OpError::Unreachable));
            return false;
        };
        let Some(copy) = self.common.copies.take(data.len(), connection.id) else {
            let op = name(up);
            up.sent(to, 0, op, len_bytes, Err(OpError::Unreachable));
            return false;
        };
        if let Some(bytes) = self.common.copies.get_mut(copy) {
            bytes[..data.len()].copy_from_slice(data);
        }
        let size = crate::buffers::Buffers::cost(data.len());
        let outgoing = &mut connection.outgoing;
        let has_room = outgoing.buffered.bytes() + size <= self.common.config.send_buffer_bytes;
        outgoing.buffered.charge(size);
        let is_complete = has_room && matches!(connection.stage, Stage::Up);
        let op = (!is_complete).then(|| name(up));
        let message = Message::new(0, len_bytes, op, Some(copy)).with_immediate(immediate);
        outgoing.push(Class::System, message);
        self.follow_up(place, now, Ok(()), up);
        is_complete
    }

    /// Sends memory that an operation has lent to a normal channel; `sent` is called when it is complete.
    pub fn send_normal(&mut self, now: Time, to: Address, send: NormalSend, up: &mut impl Upcalls) {
        let NormalSend {
            op,
            channel,
            len_bytes,
            immediate,
        } = send;
        self.free_spent();
        let place = self.reach(now, to, up);
        let Some((place, connection)) =
            place.and_then(|place| Some((place, self.connections.get_mut(place)?)))
        else {
            return up.sent(to, channel, op, len_bytes, Err(OpError::Unreachable));
        };
        let message = Message::new(channel, len_bytes, Some(op), None).with_immediate(immediate);
        connection.outgoing.push(Class::Normal, message);
        self.follow_up(place, now, Ok(()), up);
    }

    /// Takes back the oldest message on a normal channel to this peer that `wanted` picks of those of which no packet has
    /// left ([SEM-4.9]). True: `sent` has been called, with *canceled*. False: there is none.
    pub fn cancel_send<U: Upcalls>(
        &mut self,
        to: Address,
        up: &mut U,
        wanted: impl Fn(&U, OpId) -> bool,
    ) -> bool {
        let place = self.connections.find(to);
        let Some(connection) = place.and_then(|place| self.connections.get_mut(place)) else {
            return false;
        };
        let queue = connection.outgoing.queue(Class::Normal);
        let Some((message, op)) = queue.cancel(|op| wanted(up, op)) else {
            return false;
        };
        let error = OpError::Canceled;
        up.sent(to, message.channel, op, message.len_bytes, Err(error));
        true
    }

    /// Longest unreliable message that this peer can be sent now: one packet ([WIRE-6.7]).
    pub fn unreliable_max(&mut self, to: Address) -> usize {
        let connection = self
            .connections
            .find(to)
            .and_then(|place| self.connections.get(place));
        let limit = match connection {
            Some(connection) => connection.payload_limit(),
            None => payload_limit(self.common.config.datagram_bytes),
        };
        usize::from(limit).min(SYSTEM_MAX)
    }

    /// Sends a message to the system channel that may be lost, and never comes twice. False if it is longer than
    /// [`unreliable_max`](Self::unreliable_max), there is no connection yet (then one is set up) or no room: it
    /// was dropped.
    pub fn send_unreliable(
        &mut self,
        now: Time,
        to: Address,
        data: &[u8],
        up: &mut impl Upcalls,
    ) -> bool {
        self.free_spent();
        let place = self.reach(now, to, up);
        let Some((place, connection)) =
            place.and_then(|place| Some((place, self.connections.get_mut(place)?)))
        else {
            return false;
        };
        let longest = usize::from(connection.payload_limit()).min(SYSTEM_MAX);
        let fits = connection.is_up() && data.len() <= longest;
        let copy = fits
            .then(|| self.common.copies.take(data.len(), connection.id))
            .flatten();
        let mut was_taken = false;
        if let Some(name) = copy {
            if let Some(bytes) = self.common.copies.get_mut(name) {
                bytes[..data.len()].copy_from_slice(data);
            }
            was_taken = connection.push_unreliable(name, data.len() as u16);
            if !was_taken {
                self.common.copies.give_back(name);
            }
        }
        self.follow_up(place, now, Ok(()), up);
        was_taken
    }

    /// Starts a one-sided operation; `rma_done` is called when it is complete.
    pub fn rma(&mut self, now: Time, to: Address, rma: Rma, up: &mut impl Upcalls) {
        self.free_spent();
        let place = self.reach(now, to, up);
        let Some((place, connection)) =
            place.and_then(|place| Some((place, self.connections.get_mut(place)?)))
        else {
            return up.rma_done(to, rma.window, rma.op, 0, Err(OpError::Unreachable));
        };
        if rma.offset.checked_add(rma.action.len_bytes()).is_none() {
            return up.rma_done(to, rma.window, rma.op, 0, Err(OpError::RmaRange));
        }
        connection.requester.push(rma);
        self.follow_up(place, now, Ok(()), up);
    }

    /// A buffer was posted for a message that waits. False if the message has gone meanwhile.
    pub fn accept(
        &mut self,
        now: Time,
        message: MessageId,
        target: Target,
        up: &mut impl Upcalls,
    ) -> bool {
        self.free_spent();
        let name = Name {
            slot: message.slot,
            number: message.number,
        };
        let Some(waiting) = self.common.waiting.get(name) else {
            return false;
        };
        let Some((place, connection)) = self
            .connections
            .place_of(waiting.connection)
            .and_then(|place| Some((place, self.connections.get_mut(place)?)))
        else {
            return false;
        };
        let common = &mut self.common;
        connection.accept(name, target, &mut Context { now, common, up });
        self.follow_up(place, now, Ok(()), up);
        true
    }

    /// A system message; empty if it was released. It stays where it is until then.
    #[inline]
    pub fn data(&self, message: &SystemHandle) -> &[u8] {
        let name = Name {
            slot: message.slot,
            number: message.number,
        };
        let bytes = self.common.pool.get(name).unwrap_or(&[]);
        bytes.get(..message.len_bytes as usize).unwrap_or(&[])
    }

    /// Gives a system message back. False if it was given back before.
    #[inline]
    pub fn release(&mut self, message: &SystemHandle) -> bool {
        let name = Name {
            slot: message.slot,
            number: message.number,
        };
        if !self.common.pool.is_lent(name) {
            return false;
        }
        let Some((owner, size)) = self.common.pool.give_back(name) else {
            return false;
        };
        if let Some(connection) = self
            .connections
            .place_of(owner)
            .and_then(|place| self.connections.get_mut(place))
        {
            connection.inbox.pool_bytes.give_back(size);
        }
        true
    }

    /// A window was unbound: puts of which some pieces were performed fail.
    pub fn on_unbound(&mut self, window: u16) {
        for connection in self.connections.iter_mut() {
            connection.on_unbound(window);
        }
    }

    /// Takes leave of all peers. What was sent before still goes out, for as long as the driver goes on
    /// until [`is_drained`](Self::is_drained); what is not complete then never will be. The memory lent to sends
    /// that are not complete is used until then.
    pub fn close(&mut self, now: Time, up: &mut impl Upcalls) {
        self.free_spent();
        self.common.is_closing = true;
        self.end_departed(now, up);
        for place in self.connections.places() {
            let Some(connection) = self.connections.get_mut(place) else {
                continue;
            };
            connection.close();
            if connection.is_useless() {
                self.connections.remove(place);
            } else {
                self.follow_up(place, now, Ok(()), up);
            }
        }
    }
}
