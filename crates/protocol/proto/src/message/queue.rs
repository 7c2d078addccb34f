//! Messages of one class to one peer, from the request to their end.

use std::collections::VecDeque;

use bcl_types::{EAGER_MAX, OpId};
use bcl_wire::serial::distance;
use bcl_wire::{Flags, Kind};

use super::Class;
use super::pushing::Pushing;
use crate::connection::packet::{Content, Packet};
use crate::slab::Name;
use bcl_types::{Span, Time};

/// Pause after a refusal, and the longest after many ([WIRE-9.4]).
const FIRST_PAUSE: Span = Span::from_us(50);
const LAST_PAUSE: Span = Span::from_ms(10);

/// How far a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Not all of it has left.
    Waiting,
    /// It has left, or its announcement has.
    Sent,
    /// The receiver has a buffer for it; so much of it has left.
    Granted { sent_bytes: u64 },
    /// Its end was reported.
    Done,
}

/// A message on its way.
#[derive(Debug, Clone)]
pub struct Message {
    pub channel: u16,
    pub len_bytes: u64,
    /// Whose end is to be reported; also the name of the memory, unless there is a copy.
    pub op: Option<OpId>,
    pub copy: Option<Name>,
    /// What the sender gives along ([WIRE-2.12]).
    pub immediate: u64,
    pub stage: Stage,
    /// Counts the messages of both classes to this peer; known once the first packet has left.
    pub id: u32,
    is_named: bool,
    /// A packet of it has left once, be it by a connection that another has taken the place of.
    has_begun: bool,
    /// It leaves as it is, and not its announcement first.
    is_pushed: bool,
    sent_bytes: u64,
    /// Sequences of its first packet, if that has left, and of its last so far.
    first: Option<u32>,
    pub last: u32,
}

impl Message {
    pub fn new(channel: u16, len_bytes: u64, op: Option<OpId>, copy: Option<Name>) -> Self {
        Self {
            channel,
            len_bytes,
            op,
            copy,
            immediate: 0,
            stage: Stage::Waiting,
            id: 0,
            is_named: false,
            has_begun: false,
            is_pushed: false,
            sent_bytes: 0,
            first: None,
            last: 0,
        }
    }

    pub fn with_immediate(self, immediate: u64) -> Self {
        Self { immediate, ..self }
    }

    fn is_short(&self) -> bool {
        self.len_bytes <= EAGER_MAX as u64
    }

    /// It leaves, or has left, without being announced.
    pub fn is_pushed(&self) -> bool {
        self.is_pushed
    }

    /// The receiver asks for it. False if it cannot do so now.
    pub fn grant(&mut self) -> bool {
        let has_begun = self.stage == Stage::Waiting && self.first.is_some();
        let is_possible = self.stage == Stage::Sent || has_begun;
        if is_possible {
            self.stage = Stage::Granted { sent_bytes: 0 };
        }
        is_possible
    }

    /// A piece of the payload, of at most `limit` bytes.
    fn piece(&self, kind: Kind, at: u64, limit: u16) -> Packet {
        let len = (self.len_bytes - at).min(u64::from(limit)) as u16;
        let payload = match (self.copy, self.op) {
            _ if len == 0 => Content::None,
            (Some(name), _) => Content::Buffer {
                name,
                at: at as u32,
                len,
            },
            (None, Some(op)) => Content::Lent { op, at, len },
            (None, None) => Content::None,
        };
        let mut packet = Packet {
            channel: self.channel,
            message: self.id,
            offset: at,
            length: self.len_bytes,
            payload,
            ..Packet::new(kind)
        };
        if at == 0 {
            packet.flags |= Flags::FIRST;
            if kind == Kind::Data && self.immediate != 0 {
                packet.flags |= Flags::IMMEDIATE;
                packet.offset = self.immediate;
            }
        }
        if at + u64::from(len) == self.len_bytes {
            packet.flags |= Flags::LAST;
        }
        packet
    }
}

/// Messages of one class to one peer, in the order of their sends.
#[derive(Debug, Default)]
pub struct Queue {
    messages: VecDeque<Message>,
    /// How many from the front have left, or have begun to and have an id.
    named: usize,
    /// The first of which not all has left.
    next: usize,
    /// After a refusal nothing leaves before this time.
    pub hold_until: Time,
    pause: Span,
}

impl Queue {
    #[inline]
    pub fn push(&mut self, message: Message) {
        self.messages.push_back(message);
    }

    /// Takes out the first message that `wanted` picks of those that have not begun to leave: the receiver knows nothing
    /// of it, and those after it get the ids that they would have had without it.
    pub fn cancel(&mut self, wanted: impl Fn(OpId) -> bool) -> Option<(Message, OpId)> {
        let waiting = self.messages.iter().enumerate().skip(self.named);
        let (index, op) = waiting
            .filter(|(_, message)| !message.has_begun)
            .filter_map(|(index, message)| Some((index, message.op?)))
            .find(|(_, op)| wanted(*op))?;
        Some((self.messages.remove(index)?, op))
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn drain(&mut self) -> impl Iterator<Item = Message> + '_ {
        self.named = 0;
        self.next = 0;
        self.messages.drain(..)
    }

    /// Whether a packet could leave, once the pause after a refusal is over.
    #[inline]
    pub fn has_next(&self) -> bool {
        self.next < self.messages.len()
    }

    /// The next packet, which will have this sequence; `ids` counts the messages of both classes.
    #[inline]
    pub fn next_packet(
        &mut self,
        limit: u16,
        ids: &mut u32,
        sequence: u32,
        pushing: &mut Pushing,
    ) -> Option<Packet> {
        // A message can be done before all of it has left: longer than the receiver's buffer. Or be asked for by then, as
        // the receiver has not kept its beginning.
        while self
            .messages
            .get(self.next)
            .is_some_and(|message| !matches!(message.stage, Stage::Waiting | Stage::Sent))
        {
            self.next += 1;
        }
        let message = self.messages.get_mut(self.next)?;
        if self.next == self.named {
            message.id = *ids;
            message.is_named = true;
            message.has_begun = true;
            *ids = ids.wrapping_add(1);
            self.named += 1;
        }
        if message.first.is_none() {
            message.first = Some(sequence);
            // System messages have no announcement, however long they are ([WIRE-6.2], [WIRE-6.8]).
            let is_system = Class::of_channel(message.channel) == Class::System;
            message.is_pushed = is_system || pushing.allows(message.len_bytes);
        }
        message.last = sequence;
        if !message.is_pushed {
            message.stage = Stage::Sent;
            self.next += 1;
            return Some(Packet {
                channel: message.channel,
                message: message.id,
                offset: message.immediate,
                length: message.len_bytes,
                ..Packet::new(Kind::Rts)
            });
        }
        let packet = message.piece(Kind::Data, message.sent_bytes, limit);
        message.sent_bytes += u64::from(packet.len_bytes());
        if packet.flags.contains(Flags::LAST) {
            message.stage = Stage::Sent;
            self.next += 1;
        }
        Some(packet)
    }

    /// The message whose last packet has just left.
    pub fn just_sent(&mut self) -> Option<&mut Message> {
        self.messages.get_mut(self.next.checked_sub(1)?)
    }

    /// Messages that have left, oldest first.
    pub fn sent(&mut self) -> impl Iterator<Item = &mut Message> {
        self.messages.iter_mut().take(self.next)
    }

    /// Index of the first message whose id is not before `id`: ids grow along the queue.
    fn index_from(&self, id: u32) -> usize {
        self.messages
            .partition_point(|message| message.is_named && distance(message.id, id) < 0)
    }

    fn index_of(&self, id: u32) -> Option<usize> {
        let index = self.index_from(id);
        let message = self.messages.get(index)?;
        (message.is_named && message.id == id).then_some(index)
    }

    /// The next piece of a message that the receiver has a buffer for, and whether it is the last.
    pub fn next_body(&mut self, id: u32, limit: u16, sequence: u32) -> Option<(Packet, bool)> {
        let message = self.get(id)?;
        let Stage::Granted { sent_bytes } = message.stage else {
            return None;
        };
        let packet = message.piece(Kind::Body, sent_bytes, limit);
        let sent_bytes = sent_bytes + u64::from(packet.len_bytes());
        message.stage = Stage::Granted { sent_bytes };
        message.last = sequence;
        Some((packet, sent_bytes == message.len_bytes))
    }

    /// A message that has begun to leave.
    pub fn get(&mut self, id: u32) -> Option<&mut Message> {
        let index = self.index_of(id)?;
        self.messages.get_mut(index)
    }

    /// Ids from `first` to `last` of messages that have left and are not done.
    pub fn next_undone(&self, first: u32, last: u32) -> Option<u32> {
        let start = self.index_from(first).min(self.named);
        self.messages
            .range(start..self.named)
            .take_while(|message| distance(message.id, last) <= 0)
            .find(|message| message.stage != Stage::Done)
            .map(|message| message.id)
    }

    /// The receiver has no room for message `id`, as of `ack`: it and all after it leave again, after a pause
    /// ([WIRE-9.3]). False if that was said of an earlier copy of the message.
    pub fn refuse(&mut self, now: Time, id: u32, ack: u32) -> bool {
        let Some(index) = self.index_of(id) else {
            return false;
        };
        let is_current = self.messages[index]
            .first
            .is_some_and(|first| distance(ack, first) > 0);
        if !is_current {
            return false;
        }
        for message in self.messages.range_mut(index..self.named) {
            if message.stage != Stage::Done {
                message.stage = Stage::Waiting;
                message.sent_bytes = 0;
                message.first = None;
            }
        }
        self.next = index;
        self.pause = self.pause.times(2).max(FIRST_PAUSE).min(LAST_PAUSE);
        self.hold_until = now + self.pause;
        true
    }

    /// Takes the front out if all its packets come before `acknowledged`: a system message is then with the receiver.
    #[inline]
    pub fn pop_acknowledged(&mut self, acknowledged: u32) -> Option<Message> {
        if self.next == 0 {
            return None;
        }
        let front = self.messages.front()?;
        if distance(acknowledged, front.last) <= 0 {
            return None;
        }
        self.pop()
    }

    /// Lets go of what is done.
    pub fn pop_done(&mut self) {
        while self
            .messages
            .front()
            .is_some_and(|message| message.stage == Stage::Done)
        {
            self.pop();
        }
    }

    fn pop(&mut self) -> Option<Message> {
        self.next = self.next.saturating_sub(1);
        self.named = self.named.saturating_sub(1);
        self.pause = Span::ZERO;
        self.messages.pop_front()
    }

    /// Everything is to leave anew, in a connection that takes the place of this one.
    pub fn restart(&mut self) {
        for message in &mut self.messages {
            message.stage = Stage::Waiting;
            message.sent_bytes = 0;
            message.first = None;
            message.is_named = false;
        }
        self.named = 0;
        self.next = 0;
    }

    /// Only short messages are left, which leave without further ado.
    pub fn keep_eager(&mut self) {
        // What has begun keeps its place, so that ids stay in order.
        let next = self.next;
        let mut index = 0;
        let mut removed_before_next = 0;
        let mut removed_named = 0;
        let named = self.named;
        self.messages.retain(|message| {
            let keep = message.is_short() && !matches!(message.stage, Stage::Granted { .. });
            if !keep {
                removed_before_next += usize::from(index < next);
                removed_named += usize::from(index < named);
            }
            index += 1;
            keep
        });
        self.next -= removed_before_next;
        self.named -= removed_named;
    }
}

#[cfg(test)]
mod tests {
    use bcl_types::LONG_SYSTEM_MAX;

    use super::*;

    fn queue(messages: u64) -> Queue {
        let mut queue = Queue::default();
        for op in 0..messages {
            queue.push(Message::new(0, 3_000, Some(op), None));
        }
        queue
    }

    /// Sends everything in pieces of 2000; returns the messages and offsets that left.
    fn send_all(queue: &mut Queue, ids: &mut u32, sequence: &mut u32) -> Vec<(u32, u64)> {
        std::iter::from_fn(|| {
            let packet = queue.next_packet(2_000, ids, *sequence, &mut Pushing::default())?;
            *sequence = sequence.wrapping_add(1);
            Some((packet.message, packet.offset))
        })
        .collect()
    }

    #[test]
    fn what_was_refused_leaves_again_in_order_under_its_ids() {
        let (mut queue, mut ids, mut sequence) = (queue(3), u32::MAX, 10);
        let all = send_all(&mut queue, &mut ids, &mut sequence);
        let names = [u32::MAX, 0, 1];
        assert_eq!(all, names.map(|id| [(id, 0), (id, 2_000)]).concat());
        assert_eq!(queue.pop_acknowledged(12).unwrap().op, Some(0));
        assert!(queue.pop_acknowledged(13).is_none());

        assert!(!queue.refuse(Time(0), 0, 12), "not yet looked at");
        assert!(queue.refuse(Time(0), 0, 16));
        assert!(queue.hold_until > Time(0));
        assert!(queue.pop_acknowledged(100).is_none());
        assert!(!queue.refuse(Time(0), 0, 16), "said of the copy before");
        let again = send_all(&mut queue, &mut ids, &mut sequence);
        assert_eq!(again, [(0, 0), (0, 2_000), (1, 0), (1, 2_000)]);
        assert!(!queue.refuse(Time(0), 0, 16), "said of the copy before");
        assert_eq!(queue.pop_acknowledged(18).unwrap().op, Some(1));
    }

    /// Names of the messages that can be canceled, which then are.
    fn cancel_all(queue: &mut Queue) -> Vec<OpId> {
        std::iter::from_fn(|| Some(queue.cancel(|_| true)?.1)).collect()
    }

    #[test]
    fn what_has_not_begun_can_be_canceled_and_leaves_no_gap() {
        let (mut queue, mut ids) = (queue(5), u32::MAX);
        let mut pushing = Pushing::default();
        let first = queue
            .next_packet(2_000, &mut ids, 10, &mut pushing)
            .unwrap();
        assert_eq!((first.message, first.length), (u32::MAX, 3_000));
        assert!(queue.cancel(|op| op == 0).is_none(), "half of it has left");
        let canceled = queue.cancel(|op| op == 1 || op == 3);
        assert_eq!(
            canceled.map(|(message, op)| (message.op, op)),
            Some((Some(1), 1))
        );
        assert!(queue.cancel(|op| op == 1).is_none(), "it is gone");
        let (left, mut sequence) = (queue.len(), 11);
        let rest = send_all(&mut queue, &mut ids, &mut sequence);
        let of = |id| [(id, 0), (id, 2_000)];
        assert_eq!(
            rest,
            [vec![(u32::MAX, 2_000)], [of(0), of(1), of(2)].concat()].concat()
        );
        assert_eq!(left, 4);
        let ops = [u32::MAX, 0, 1, 2].map(|id| queue.get(id).unwrap().op);
        assert_eq!(ops, [0, 2, 3, 4].map(Some));
    }

    #[test]
    fn what_has_begun_once_is_never_canceled() {
        let (mut queue, mut ids, mut sequence) = (queue(2), 0, 0);
        send_all(&mut queue, &mut ids, &mut sequence);
        queue.push(Message::new(5, 100_000, Some(2), None));
        assert!(queue.refuse(Time(0), 0, sequence));
        assert_eq!(
            cancel_all(&mut queue),
            [2],
            "those before are refused, not unknown"
        );
        queue.push(Message::new(5, 100_000, Some(3), None));
        send_all(&mut queue, &mut ids, &mut sequence);
        assert_eq!(cancel_all(&mut queue), [], "a long one is announced");
        queue.push(Message::new(0, 3_000, Some(4), None));
        queue.restart();
        assert_eq!(
            cancel_all(&mut queue),
            [4],
            "others have left by the connection before"
        );
        assert_eq!(send_all(&mut queue, &mut 7, &mut sequence)[0], (7, 0));
    }

    /// WIRE-6.2, 6.8: whatever was pushed in vain. No RTS speaks of the system channel.
    #[test]
    fn system_messages_are_never_announced() {
        let mut queue = Queue::default();
        queue.push(Message::new(0, LONG_SYSTEM_MAX as u64, Some(1), None));
        let mut pushing = Pushing::default();
        pushing.was_in_vain();
        let packet = queue.next_packet(1_000, &mut 0, 0, &mut pushing).unwrap();
        assert_eq!((packet.kind, packet.channel), (Kind::Data, 0));
    }

    #[test]
    fn what_is_asked_for_while_it_is_pushed_leaves_as_a_body_from_its_beginning() {
        let mut queue = Queue::default();
        queue.push(Message::new(5, 20_000, Some(1), None));
        queue.push(Message::new(5, 100, Some(2), None));
        let (mut ids, mut pushing) = (0, Pushing::default());
        let mut next = |queue: &mut Queue, sequence| {
            let packet = queue.next_packet(1_000, &mut ids, sequence, &mut pushing)?;
            Some((packet.kind, packet.message, packet.offset))
        };
        assert!(
            !Message::new(5, 20_000, Some(1), None).grant(),
            "unheard of"
        );
        for sequence in 0..3 {
            let expected = (Kind::Data, 0, 1_000 * u64::from(sequence));
            assert_eq!(next(&mut queue, sequence), Some(expected));
        }
        let message = queue.get(0).unwrap();
        assert!(message.is_pushed() && message.grant() && !message.grant());
        assert_eq!(next(&mut queue, 3), Some((Kind::Data, 1, 0)));
        assert_eq!(next(&mut queue, 4), None);
        let (body, is_last) = queue.next_body(0, 1_000, 5).unwrap();
        assert_eq!((body.kind, body.offset, is_last), (Kind::Body, 0, false));
    }

    #[test]
    fn long_messages_are_announced() {
        let mut queue = Queue::default();
        queue.push(Message::new(5, 100_000, Some(1), None));
        let mut ids = 0;
        let mut pushing = Pushing::default();
        let packet = queue.next_packet(1_000, &mut ids, 0, &mut pushing).unwrap();
        assert_eq!((packet.kind, packet.length), (Kind::Rts, 100_000));
        assert!(queue.next_body(0, 1_000, 1).is_none());
        queue.get(0).unwrap().stage = Stage::Granted { sent_bytes: 0 };
        let mut bytes = 0;
        loop {
            let (packet, is_last) = queue.next_body(0, 1_000, 1).unwrap();
            assert_eq!(packet.offset, bytes);
            bytes += u64::from(packet.len_bytes());
            if is_last {
                break;
            }
        }
        assert_eq!(bytes, 100_000);
        assert_eq!(queue.next_undone(0, 5), Some(0));
        queue.get(0).unwrap().stage = Stage::Done;
        assert_eq!(queue.next_undone(0, 5), None);
        queue.pop_done();
        assert_eq!(queue.len(), 0);
    }
}
