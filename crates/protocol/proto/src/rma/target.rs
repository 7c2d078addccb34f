//! The owner's half: performs what peers ask, each thing once.

use std::collections::VecDeque;

use bcl_types::{Atomic, Refusal};
use bcl_wire::body::AtomicBody;
use bcl_wire::serial::distance;
use bcl_wire::{Flags, Header, Kind, RmaStatus};

use super::SLOTS;
use super::reading::PIECES_MAX;
use crate::common::Context;
use crate::connection::packet::{Content, Packet};
use crate::message::inbox::Sender;
use crate::message::outgoing::Broken;
use crate::names::WindowPut;
use crate::progress;
use crate::upcalls::Upcalls;

/// Answers that wait to leave; requests beyond that are not taken, and come again.
const ANSWERS_MAX: usize = 2 * SLOTS;

/// What is remembered of an operation, so that it is not performed twice: 32 bytes.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    operation: u32,
    /// Of a put that is not done.
    window: Option<u16>,
    is_done: bool,
    status: RmaStatus,
    value: u64,
    /// Where a put began.
    start: u64,
}

/// What leaves for the peer.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Told(Packet),
    Read(Read),
}

/// A read of which not all has left. Each packet is read as it leaves: until all are there the peer starts nothing that they
/// must not see ([WIRE-11.4]).
#[derive(Debug, Clone, Copy)]
struct Read {
    window: u16,
    slot: u16,
    operation: u32,
    /// In the window.
    offset: u64,
    len_bytes: u64,
    /// What has left.
    done_bytes: u64,
    /// Longest payload of a packet.
    limit: u16,
}

/// What has become of the peer's latest operation in each slot, and answers to be sent.
#[derive(Debug, Default)]
pub struct Owner {
    /// By slot; there only for peers that use windows.
    outcomes: Option<Box<[Option<Outcome>; SLOTS]>>,
    answers: VecDeque<Answer>,
    /// Length of what was read and is asked for again: its answer was lost.
    pub lost_bytes: u16,
}

impl Owner {
    #[inline]
    pub fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Whether a request can be answered.
    pub fn has_room(&self) -> bool {
        self.answers.len() < ANSWERS_MAX
    }

    /// Whether all that the peer has asked for is over and answered: no put has begun of which pieces are to come.
    pub fn is_done(&self) -> bool {
        let mut outcomes = self.outcomes.iter().flat_map(|all| all.iter().flatten());
        !self.has_answers() && outcomes.all(|outcome| outcome.is_done)
    }

    /// What an interface program answers from, if all [is done](Self::is_done) and it is asked again.
    pub fn outcomes(&self) -> Vec<Option<progress::Outcome>> {
        let by_slot = self.outcomes.iter().flat_map(|all| all.iter());
        let told = |outcome: &Outcome| progress::Outcome {
            number: outcome.operation,
            is_ours: true,
            is_done: outcome.is_done,
            status: outcome.status,
            value: outcome.value,
            start: outcome.start,
        };
        by_slot.map(|outcome| outcome.as_ref().map(told)).collect()
    }

    /// What an interface program has performed, and what it has left to us.
    pub fn resume(&mut self, outcomes: &[Option<progress::Outcome>]) {
        for (slot, theirs) in outcomes.iter().enumerate().take(SLOTS) {
            let Some(theirs) = theirs.filter(|outcome| outcome.is_ours) else {
                continue;
            };
            let outcomes = self.outcomes.get_or_insert_with(|| Box::new([None; SLOTS]));
            outcomes[slot] = Some(Outcome {
                operation: theirs.number,
                window: None,
                is_done: theirs.is_done,
                status: theirs.status,
                value: theirs.value,
                start: theirs.start,
            });
        }
    }

    /// A window was unbound: of the puts that are under way to it nothing more is performed, whatever is bound there later. That
    /// of an interface program's may be to any window.
    pub fn on_unbound(&mut self, window: u16) {
        let outcomes = self.outcomes.iter_mut().flat_map(|all| all.iter_mut());
        for outcome in outcomes.flatten() {
            let is_to_it = outcome.window.is_none_or(|its| its == window);
            if is_to_it && !outcome.is_done && outcome.status == RmaStatus::Ok {
                outcome.status = RmaStatus::NoWindow;
            }
        }
    }

    pub fn next_answer<U: Upcalls>(
        &mut self,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) -> Option<Packet> {
        let (packet, is_all) = match self.answers.front_mut()? {
            Answer::Told(packet) => (*packet, true),
            Answer::Read(read) => read.next(sender, cx),
        };
        if is_all {
            self.answers.pop_front();
        }
        Some(packet)
    }

    pub fn memory_bytes(&self) -> usize {
        let outcomes = self
            .outcomes
            .as_ref()
            .map_or(0, |_| size_of::<[Option<Outcome>; SLOTS]>());
        outcomes + self.answers.capacity() * size_of::<Answer>()
    }

    /// PUT, GET or ATOMIC, in order. False: no room to answer, the packet is not taken. What is read leaves in packets with
    /// payloads of `limit` bytes.
    pub fn on_request<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        sender: Sender,
        limit: u16,
        cx: &mut Context<'_, U>,
    ) -> Result<bool, Broken> {
        let slot = usize::from(header.slot);
        if slot >= SLOTS {
            return Err(Broken("slot"));
        }
        if !self.has_room() {
            return Ok(false);
        }
        let outcomes = self.outcomes.get_or_insert_with(|| Box::new([None; SLOTS]));
        let known =
            outcomes[slot].filter(|outcome| distance(header.message, outcome.operation) <= 0);
        match known {
            Some(outcome) if outcome.operation != header.message => return Ok(true),
            Some(outcome) if outcome.is_done && header.kind != Kind::Get => {
                self.answer(header, outcome);
                return Ok(true);
            }
            _ => {}
        }
        match header.kind {
            Kind::Put if known.is_none() && !header.flags.contains(Flags::FIRST) => {
                return Err(Broken("piece of PUT"));
            }
            Kind::Put => self.put(header, payload, known, sender, cx),
            Kind::Atomic => self.atomic(header, payload, sender, cx)?,
            _ => {
                if known.is_some() {
                    self.lost_bytes = header.length.min(limit.into()) as u16;
                }
                self.get(header, limit);
            }
        }
        Ok(true)
    }

    fn remember(&mut self, header: &Header, outcome: Outcome) {
        if let Some(outcomes) = &mut self.outcomes {
            outcomes[usize::from(header.slot)] = Some(outcome);
        }
    }

    fn answer(&mut self, header: &Header, outcome: Outcome) {
        self.answers.push_back(Answer::Told(Packet {
            channel: header.channel,
            slot: header.slot,
            message: header.message,
            offset: outcome.value,
            length: u64::from(outcome.status.number()),
            ..Packet::new(Kind::Answer)
        }));
    }

    fn put<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        known: Option<Outcome>,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) {
        let mut outcome = match known {
            Some(outcome) => outcome,
            None => Outcome {
                operation: header.message,
                window: Some(header.channel),
                is_done: false,
                status: RmaStatus::Ok,
                value: 0,
                start: header.offset,
            },
        };
        let is_last = header.flags.contains(Flags::LAST);
        // Once a piece was refused the others are not looked at: the put has failed as a whole.
        if outcome.status == RmaStatus::Ok {
            let put = WindowPut {
                window: header.channel,
                start: outcome.start,
                len_bytes: header.length,
                offset: header.offset,
                is_last,
            };
            let result = cx.up.window_put(sender.peer, put, payload);
            outcome.status = status(result);
        }
        outcome.is_done = is_last;
        self.remember(header, outcome);
        if is_last {
            self.answer(header, outcome);
        }
    }

    fn atomic<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) -> Result<(), Broken> {
        let atomic = match AtomicBody::from_bytes(payload).ok_or(Broken("ATOMIC"))? {
            AtomicBody::FetchAdd(value) => Atomic::FetchAdd(value),
            AtomicBody::CompareSwap { expected, new } => Atomic::CompareSwap { expected, new },
        };
        let result = cx
            .up
            .window_atomic(sender.peer, header.channel, header.offset, atomic);
        let outcome = Outcome {
            operation: header.message,
            window: None,
            is_done: true,
            status: status(result.map(drop)),
            value: result.unwrap_or(0),
            start: header.offset,
        };
        self.remember(header, outcome);
        self.answer(header, outcome);
        Ok(())
    }

    /// Reads anew even if asked again: what was read is not remembered, only that it was.
    fn get(&mut self, header: &Header, limit: u16) {
        let outcome = Outcome {
            operation: header.message,
            window: None,
            is_done: true,
            status: RmaStatus::Ok,
            value: 0,
            start: header.offset,
        };
        self.remember(header, outcome);
        let in_one = u64::from(limit) * u64::from(PIECES_MAX);
        self.answers.push_back(Answer::Read(Read {
            window: header.channel,
            slot: header.slot,
            operation: header.message,
            offset: header.offset,
            len_bytes: header.length.min(in_one),
            done_bytes: 0,
            limit,
        }));
    }

    /// The connection ends.
    pub fn clear(&mut self) {
        self.answers.clear();
    }
}

impl Read {
    /// Reads what leaves next; and whether that is the last.
    fn next<U: Upcalls>(&mut self, sender: Sender, cx: &mut Context<'_, U>) -> (Packet, bool) {
        let len_bytes = (self.len_bytes - self.done_bytes).min(self.limit.into()) as u16;
        let mut packet = Packet {
            channel: self.window,
            slot: self.slot,
            message: self.operation,
            ..Packet::new(Kind::Answer)
        };
        // A part that is beyond all places is outside as well.
        let place = self.offset.checked_add(self.done_bytes);
        match place.map_or(Err(Refusal::Range), |place| {
            self.read(place, len_bytes, sender, cx)
        }) {
            Ok(payload) => {
                packet.offset = self.done_bytes;
                packet.payload = payload;
                self.done_bytes += u64::from(len_bytes);
                (packet, self.done_bytes == self.len_bytes)
            }
            Err(refusal) => {
                packet.length = status(Err(refusal)).number().into();
                (packet, true)
            }
        }
    }

    fn read<U: Upcalls>(
        &self,
        place: u64,
        len_bytes: u16,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) -> Result<Content, Refusal> {
        let len = usize::from(len_bytes);
        let copies = &mut cx.common.copies;
        let name = copies.take(len, sender.connection).ok_or(Refusal::Range)?;
        let into = copies.get_mut(name).and_then(|bytes| bytes.get_mut(..len));
        let result = into.map_or(Err(Refusal::Range), |into| {
            cx.up.window_get(sender.peer, self.window, place, into)
        });
        match result {
            Ok(()) => Ok(Content::Buffer {
                name,
                at: 0,
                len: len_bytes,
            }),
            Err(refusal) => {
                cx.common.spent.push(name);
                Err(refusal)
            }
        }
    }
}

fn status(result: Result<(), Refusal>) -> RmaStatus {
    match result {
        Ok(()) => RmaStatus::Ok,
        Err(Refusal::Denied) => RmaStatus::Denied,
        Err(Refusal::Range) => RmaStatus::Range,
        Err(Refusal::NoWindow) => RmaStatus::NoWindow,
    }
}
