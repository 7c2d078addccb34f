//! The sending half of messages: which leave next, and what the receiver has said of them.

use std::collections::VecDeque;

use bcl_types::{Address, OpError, OpId};
use bcl_wire::{FinStatus, Header, Kind};

use super::Class;
use super::pushing::Pushing;
use super::queue::{Message, Queue, Stage};
use crate::account::Account;
use crate::common::Context;
use crate::connection::flights::Flights;
use crate::connection::packet::Packet;
use crate::slab::Name;
use crate::upcalls::Upcalls;
use bcl_types::Time;

/// The peer did what no correct peer does ([WIRE-10.5]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken(pub &'static str);

/// All messages to one peer that have not ended.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// By [`Class`].
    queues: [Queue; 2],
    /// Ids of messages that the receiver has a buffer for, in turn.
    granted: VecDeque<u32>,
    /// Id of the next message of either class.
    ids: u32,
    pub pushing: Pushing,
    /// Copies of system messages whose sends are complete.
    pub buffered: Account,
    /// Which source was asked last: they take turns.
    turn: u8,
}

impl Outgoing {
    pub fn queue(&mut self, class: Class) -> &mut Queue {
        &mut self.queues[class as usize]
    }

    pub fn pending(&self) -> usize {
        self.queues.iter().map(Queue::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.pending() == 0
    }

    /// Whether nothing that was to be sent is left to send.
    pub fn has_all_left(&self) -> bool {
        self.granted.is_empty() && !self.queues.iter().any(Queue::has_next)
    }

    /// Whether a packet could leave now.
    #[inline]
    pub fn is_ready(&self, now: Time) -> bool {
        !self.granted.is_empty()
            || self
                .queues
                .iter()
                .any(|queue| queue.has_next() && queue.hold_until <= now)
    }

    /// When a queue that pauses goes on.
    pub fn hold_until(&self, now: Time) -> Option<Time> {
        self.queues
            .iter()
            .filter(|queue| queue.has_next() && queue.hold_until > now)
            .map(|queue| queue.hold_until)
            .min()
    }

    /// The next packet, which will have this sequence. Neither class holds up the other, nor do long messages.
    #[inline]
    pub fn next_packet(&mut self, now: Time, limit: u16, sequence: u32) -> Option<Packet> {
        for _ in 0..3 {
            self.turn = (self.turn + 1) % 3;
            let packet = match self.turn {
                2 => self.next_body(limit, sequence),
                class => {
                    let queue = &mut self.queues[usize::from(class)];
                    if queue.hold_until > now {
                        None
                    } else {
                        queue.next_packet(limit, &mut self.ids, sequence, &mut self.pushing)
                    }
                }
            };
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn next_body(&mut self, limit: u16, sequence: u32) -> Option<Packet> {
        while let Some(id) = self.granted.pop_front() {
            let body = self.queue(Class::Normal).next_body(id, limit, sequence);
            let Some((packet, is_last)) = body else {
                continue;
            };
            if !is_last {
                // One message at a time: the first granted is complete first.
                self.granted.push_front(id);
            }
            return Some(packet);
        }
        None
    }

    /// Reports system sends that have left, once the connection is up: they are complete ([WIRE-6.3]).
    #[inline]
    pub fn report_sent<U: Upcalls>(&mut self, peer: Address, cx: &mut Context<'_, U>) {
        for message in self.queues[Class::System as usize].sent() {
            if let Some(op) = message.op.take() {
                cx.up.sent(peer, 0, op, message.len_bytes, Ok(()));
            }
        }
    }

    /// As above, for the message that has left last.
    #[inline]
    pub fn report_last_sent<U: Upcalls>(&mut self, peer: Address, cx: &mut Context<'_, U>) {
        if let Some(message) = self.queues[Class::System as usize].just_sent()
            && let Some(op) = message.op.take()
        {
            cx.up.sent(peer, 0, op, message.len_bytes, Ok(()));
        }
    }

    /// All sequences before `acknowledged` were taken: system messages that lie before it are with the receiver.
    #[inline]
    pub fn on_acknowledged<U: Upcalls>(&mut self, acknowledged: u32, cx: &mut Context<'_, U>) {
        while let Some(message) = self.queues[Class::System as usize].pop_acknowledged(acknowledged)
        {
            self.free(message.copy, cx);
        }
    }

    fn free<U: Upcalls>(&mut self, copy: Option<Name>, cx: &mut Context<'_, U>) {
        if let Some((_, size)) = copy.and_then(|name| cx.common.copies.give_back(name)) {
            self.buffered.give_back(size);
        }
    }

    /// The receiver has a buffer ([WIRE-6.5]).
    pub fn on_cts(&mut self, id: u32) -> Result<(), Broken> {
        let Some(message) = self.queue(Class::Normal).get(id) else {
            // Its end was reported meanwhile.
            return Ok(());
        };
        if message.stage == Stage::Done {
            return Ok(());
        }
        let was_pushed = message.is_pushed();
        if !message.grant() {
            return Err(Broken("CTS"));
        }
        if was_pushed {
            self.pushing.was_in_vain();
        }
        self.granted.push_back(id);
        Ok(())
    }

    /// The receiver is done with messages ([WIRE-6.6]).
    pub fn on_fin<U: Upcalls>(
        &mut self,
        header: &Header,
        peer: Address,
        flights: &mut Flights,
        cx: &mut Context<'_, U>,
    ) -> Result<(), Broken> {
        let status = u8::try_from(header.length).ok();
        let status = status.and_then(FinStatus::from_number);
        if status == Some(FinStatus::Ok) {
            let last = header.offset as u32;
            while let Some(id) = self.queue(Class::Normal).next_undone(header.message, last) {
                self.finish(id, None, peer, flights, cx)?;
            }
        } else {
            let error = Some((status, header.offset));
            self.finish(header.message, error, peer, flights, cx)?;
        }
        self.queue(Class::Normal).pop_done();
        Ok(())
    }

    fn finish<U: Upcalls>(
        &mut self,
        id: u32,
        error: Option<(Option<FinStatus>, u64)>,
        peer: Address,
        flights: &mut Flights,
        cx: &mut Context<'_, U>,
    ) -> Result<(), Broken> {
        let Some(message) = self.queue(Class::Normal).get(id) else {
            return Ok(());
        };
        let len_bytes = message.len_bytes;
        let has_left = match message.stage {
            Stage::Waiting => false,
            Stage::Sent => message.is_pushed(),
            Stage::Granted { sent_bytes } => sent_bytes == len_bytes,
            Stage::Done => return Ok(()),
        };
        if error.is_none() && !has_left {
            return Err(Broken("FIN"));
        }
        message.stage = Stage::Done;
        let result = match error {
            None => Ok(()),
            Some((Some(FinStatus::Truncated), capacity_bytes)) => Err(OpError::Truncated {
                len_bytes,
                capacity_bytes,
            }),
            Some((Some(FinStatus::Canceled), _)) => Err(OpError::Canceled),
            Some((Some(FinStatus::Fault), _)) => Err(OpError::Fault),
            Some(_) => Err(OpError::Protocol),
        };
        let (channel, last) = (message.channel, message.last);
        if let Some(op) = message.op.take() {
            flights.forget_memory(op, last);
            cx.up.sent(peer, channel, op, len_bytes, result);
        }
        Ok(())
    }

    /// A message was refused ([WIRE-9.3]). False if that is old news.
    pub fn on_refused(&mut self, class: Class, now: Time, id: u32, ack: u32) -> bool {
        self.queue(class).refuse(now, id, ack)
    }

    /// Ends everything. The messages that were to be reported have been.
    pub fn fail_all<U: Upcalls>(&mut self, peer: Address, error: OpError, cx: &mut Context<'_, U>) {
        self.granted.clear();
        for class in [Class::System, Class::Normal] {
            let ended: Vec<(u16, u64, Option<OpId>, Option<Name>)> = self
                .queue(class)
                .drain()
                .map(|message| (message.channel, message.len_bytes, message.op, message.copy))
                .collect();
            for (channel, len_bytes, op, copy) in ended {
                self.free(copy, cx);
                if let Some(op) = op {
                    cx.up.sent(peer, channel, op, len_bytes, Err(error));
                }
            }
        }
    }

    /// Everything is to leave anew, in a connection that takes the place of this one.
    pub fn restart(&mut self) {
        self.ids = 0;
        self.granted.clear();
        self.queues.iter_mut().for_each(Queue::restart);
    }

    /// The port closes: long messages that the receiver does not have are abandoned ([SEM-7.1]).
    pub fn keep_eager(&mut self) {
        self.granted.clear();
        self.queue(Class::Normal).keep_eager();
    }

    /// Adds a message.
    #[inline]
    pub fn push(&mut self, class: Class, message: Message) {
        self.queues[class as usize].push(message);
    }
}

impl Packet {
    /// The receiver is done with all messages from `first` to `last`.
    pub fn fin_ok(first: u32, last: u32) -> Self {
        Self {
            message: first,
            offset: u64::from(last),
            ..Self::new(Kind::Fin)
        }
    }

    /// A message has ended with an error.
    pub fn fin_error(message: u32, status: FinStatus, detail: u64) -> Self {
        Self {
            message,
            offset: detail,
            length: u64::from(status.number()),
            ..Self::new(Kind::Fin)
        }
    }

    /// There is a buffer for a message.
    pub fn cts(message: u32) -> Self {
        Self {
            message,
            ..Self::new(Kind::Cts)
        }
    }
}
