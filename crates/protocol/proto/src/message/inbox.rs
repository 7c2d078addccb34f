//! The receiving half of messages.

use std::collections::VecDeque;

use bcl_types::{Address, OpError};
use bcl_wire::{FinStatus, Flags, Header, Kind, PUSHED_MAX};

use super::Class;
use super::outgoing::Broken;
use super::refusal::Refusals;
use super::waiting::{Arrival, Kept, Waiting};
use crate::account::Account;
use crate::buffers::Buffers;
use crate::common::Context;
use crate::connection::packet::Packet;
use crate::names::{MessageId, SystemHandle, Target};
use crate::slab::Name;
use crate::upcalls::Upcalls;

/// Long messages of one peer that come in at the same time; the others' turn comes later ([WIRE-6.5]).
const GRANTS_MAX: usize = 16;

/// A message that comes in pieces.
#[derive(Debug)]
struct Open {
    arrival: Arrival,
    received_bytes: u64,
    to: To,
    /// The receiver asked for it, so that it counts as granted.
    is_granted: bool,
}

#[derive(Debug, Clone, Copy)]
enum To {
    /// A system message.
    Pool(Name),
    /// A posted buffer.
    Target(Target),
    /// No buffer was posted yet.
    Waiting(Name),
}

/// Whose messages these are.
#[derive(Debug, Clone, Copy)]
pub struct Sender {
    pub peer: Address,
    pub connection: u32,
}

/// Messages of one peer that have begun to arrive, or wait for a buffer.
#[derive(Debug, Default)]
pub struct Inbox {
    open: Vec<Open>,
    /// Messages that have met a buffer and whose turn has not come.
    ungranted: VecDeque<(Arrival, Target)>,
    granted: usize,
    pub refusals: Refusals,
    /// The latest normal message.
    previous: Option<u32>,
    /// Messages whose good end is to be told: from the first to the last, with no other between them.
    ended: Option<(u32, u32)>,
    /// CTS and FIN that are to leave.
    controls: VecDeque<Packet>,
    /// Memory of the pool that this peer's system messages occupy.
    pub pool_bytes: Account,
    /// The same, of normal messages that wait for a buffer.
    kept_bytes: Account,
    /// Messages of this peer that wait for a buffer.
    pub waiting: u32,
    /// An interface program has taken what comes: nothing of it can be refused that it refuses itself ([MCP-6.4]).
    pub is_entered: bool,
}

impl Inbox {
    /// Whether the peer owes us pieces of a message.
    pub fn is_expecting(&self) -> bool {
        !self.open.is_empty()
    }

    #[inline]
    pub fn has_controls(&self) -> bool {
        self.ended.is_some() || !self.controls.is_empty()
    }

    #[inline]
    pub fn next_control(&mut self) -> Option<Packet> {
        self.controls.pop_front().or_else(|| {
            let (first, last) = self.ended.take()?;
            Some(Packet::fin_ok(first, last))
        })
    }

    /// Whether a piece that came early can be placed already ([WIRE-5.5]).
    pub fn can_place(&self, header: &Header) -> bool {
        match header.kind {
            Kind::Body => true,
            Kind::Data => {
                !header.flags.contains(Flags::FIRST) && self.find(header.message).is_some()
            }
            _ => false,
        }
    }

    #[inline]
    fn find(&self, message: u32) -> Option<usize> {
        self.open
            .iter()
            .position(|open| open.arrival.message == message)
    }

    /// DATA, in order or placeable.
    #[inline]
    pub fn on_data<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) -> Result<(), Broken> {
        if !header.flags.contains(Flags::FIRST) {
            return self.on_piece(header, payload, sender, cx);
        }
        let class = Class::of_channel(header.channel);
        let longest = match class {
            Class::System => cx.common.config.system_max() as u64,
            Class::Normal => PUSHED_MAX,
        };
        if header.length > longest || header.place() != 0 {
            return Err(Broken("length of DATA"));
        }
        if self.refusals.stands_before(class, header.message) || cx.common.is_closing {
            return Ok(());
        }
        let taken = match class {
            Class::System => self.on_system(header, payload, sender, cx),
            Class::Normal => self.on_normal(header, payload, sender, cx)?,
        };
        if taken {
            self.refusals.accept(class);
        } else {
            self.refusals.refuse(class, header.message, header.sequence);
        }
        Ok(())
    }

    /// Room in the pool. No peer gets more than what is left for the others, so that one that is not looked after
    /// does not keep the others out (dynamic thresholds, Choudhury and Hahne 1998).
    ///
    /// The classes are counted apart: messages that wait for buffers must not keep system messages out.
    fn room<U: Upcalls>(
        &mut self,
        class: Class,
        len_bytes: u64,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) -> Option<Name> {
        let cost = Buffers::cost(len_bytes as usize);
        let share = match class {
            Class::System => &mut self.pool_bytes,
            Class::Normal => &mut self.kept_bytes,
        };
        if share.bytes() + cost > cx.common.pool_room_bytes() {
            return None;
        }
        let name = cx.common.pool.take(len_bytes as usize, sender.connection)?;
        share.charge(cost);
        Some(name)
    }

    /// Room that was kept free for what is in the interface program's ring.
    fn promised_room<U: Upcalls>(
        &mut self,
        len_bytes: u64,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) -> Option<Name> {
        let name = cx.common.pool.take(len_bytes as usize, sender.connection)?;
        self.pool_bytes.charge(Buffers::cost(len_bytes as usize));
        Some(name)
    }

    #[inline]
    fn on_system<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) -> bool {
        let name = match self.is_entered {
            true => self.promised_room(header.length, sender, cx),
            false if cx.up.is_full() => None,
            false => self.room(Class::System, header.length, sender, cx),
        };
        let Some(name) = name else {
            return false;
        };
        copy(&mut cx.common.pool, name, 0, payload);
        if header.length == payload.len() as u64 {
            deliver_system(name, header.length, header.immediate(), sender, cx);
        } else {
            let arrival = self.arrival(header);
            self.open(arrival, payload.len(), To::Pool(name), false);
        }
        true
    }

    fn on_normal<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) -> Result<bool, Broken> {
        let Some((waiting, met)) = self.meet(header, sender, cx) else {
            return Ok(false);
        };
        let arrival = self.arrival(header);
        self.previous = Some(header.message);
        let is_whole = header.length == payload.len() as u64;
        match met {
            Some(target) if header.length > target.capacity_bytes => {
                self.truncated(arrival, target, sender, cx);
            }
            Some(target) => {
                let placed = cx.up.place(target.op, 0, payload);
                if is_whole || !placed {
                    self.end(arrival, target, placed, sender, cx);
                } else {
                    self.open(arrival, payload.len(), To::Target(target), false);
                }
            }
            None => {
                // While there is plenty of room the payload is kept, else it comes again when it is wanted.
                let has_plenty = cx.common.pool.used_bytes() * 2 < cx.common.config.pool_bytes;
                let room = has_plenty.then(|| self.room(Class::Normal, header.length, sender, cx));
                let kept = match room.flatten() {
                    None => Kept::Announced,
                    Some(name) => {
                        copy(&mut cx.common.pool, name, 0, payload);
                        if is_whole {
                            Kept::Here(name)
                        } else {
                            self.open(arrival, payload.len(), To::Waiting(waiting), false);
                            Kept::Coming(name)
                        }
                    }
                };
                if let Some(entry) = cx.common.waiting.get_mut(waiting) {
                    entry.payload = kept;
                }
            }
        }
        Ok(true)
    }

    /// RTS, in order.
    pub fn on_rts<U: Upcalls>(
        &mut self,
        header: &Header,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) -> Result<(), Broken> {
        if header.channel == 0 {
            return Err(Broken("channel of RTS"));
        }
        if self.refusals.stands_before(Class::Normal, header.message) || cx.common.is_closing {
            return Ok(());
        }
        let Some((_, met)) = self.meet(header, sender, cx) else {
            self.refusals
                .refuse(Class::Normal, header.message, header.sequence);
            return Ok(());
        };
        self.refusals.accept(Class::Normal);
        let arrival = self.arrival(header);
        self.previous = Some(header.message);
        if let Some(target) = met {
            self.begin(arrival, target, sender, cx);
        }
        Ok(())
    }

    /// Asks the program for a buffer; `None` if there is no room even to remember the message.
    fn meet<U: Upcalls>(
        &mut self,
        header: &Header,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) -> Option<(Name, Option<Target>)> {
        if cx.up.is_full() || self.waiting >= cx.common.config.waiting_max {
            return None;
        }
        let arrival = self.arrival(header);
        let name = cx.common.waiting.insert(Waiting {
            connection: sender.connection,
            arrival,
            payload: Kept::Announced,
            accepted: None,
        });
        let message = MessageId {
            slot: name.slot,
            number: name.number,
        };
        let met = cx.up.arrived(
            sender.peer,
            message,
            arrival.channel,
            arrival.len_bytes,
            arrival.immediate,
        );
        if met.is_some() {
            cx.common.waiting.remove(name);
        } else {
            self.waiting += 1;
        }
        Some((name, met))
    }

    fn arrival(&self, header: &Header) -> Arrival {
        Arrival {
            message: header.message,
            previous: self.previous,
            channel: header.channel,
            len_bytes: header.length,
            immediate: header.immediate(),
        }
    }

    fn open(&mut self, arrival: Arrival, received: usize, to: To, is_granted: bool) {
        self.granted += usize::from(is_granted);
        self.open.push(Open {
            arrival,
            received_bytes: received as u64,
            to,
            is_granted,
        });
    }

    /// A piece of a message that has begun; others were refused, or ended before they were complete.
    #[inline]
    pub fn on_piece<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) -> Result<(), Broken> {
        let Some(index) = self.find(header.message) else {
            return Ok(());
        };
        let open = &mut self.open[index];
        // What was sent before it was asked for, and not kept, comes once more: none of it counts twice.
        let is_asked_for = header.kind == Kind::Body;
        if payload.is_empty() || is_asked_for != open.is_granted {
            return Ok(());
        }
        if header.length != open.arrival.len_bytes {
            return Err(Broken("length of a piece"));
        }
        let placed = match open.to {
            To::Target(target) => cx.up.place(target.op, header.place(), payload),
            To::Pool(name) => copy(&mut cx.common.pool, name, header.place(), payload),
            To::Waiting(waiting) => match cx.common.waiting.get(waiting).map(|w| w.payload) {
                Some(Kept::Coming(name)) => {
                    copy(&mut cx.common.pool, name, header.place(), payload)
                }
                _ => false,
            },
        };
        self.count(index, payload.len() as u64, placed, sender, cx);
        Ok(())
    }

    /// A piece that the interface program has put into its place ([MCP-4.6]).
    pub fn on_placed<U: Upcalls>(
        &mut self,
        header: &Header,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) {
        if let Some(index) = self.find(header.message) {
            let len_bytes = u64::from(header.payload_len_bytes);
            self.count(index, len_bytes, true, sender, cx);
        }
    }

    /// So much more of an open message is here, or could not be placed.
    #[inline]
    fn count<U: Upcalls>(
        &mut self,
        index: usize,
        len_bytes: u64,
        placed: bool,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) {
        let open = &mut self.open[index];
        open.received_bytes += len_bytes;
        if placed && open.received_bytes < open.arrival.len_bytes {
            return;
        }
        let open = self.open.swap_remove(index);
        self.granted -= usize::from(open.is_granted);
        match open.to {
            To::Pool(name) => {
                let Arrival {
                    len_bytes,
                    immediate,
                    ..
                } = open.arrival;
                deliver_system(name, len_bytes, immediate, sender, cx);
            }
            To::Target(target) => self.end(open.arrival, target, placed, sender, cx),
            To::Waiting(waiting) => self.is_here(waiting, sender, cx),
        }
        self.grant(sender, cx);
    }

    fn is_here<U: Upcalls>(&mut self, waiting: Name, sender: Sender, cx: &mut Context<'_, U>) {
        let Some(entry) = cx.common.waiting.get_mut(waiting) else {
            return;
        };
        if let Kept::Coming(name) = entry.payload {
            entry.payload = Kept::Here(name);
        }
        if let Some(target) = entry.accepted {
            self.accept(waiting, target, sender, cx);
        }
    }

    /// A buffer was posted for a message that waits ([SEM-4.3]).
    pub fn accept<U: Upcalls>(
        &mut self,
        waiting: Name,
        target: Target,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) {
        if let Some(entry) = cx.common.waiting.get_mut(waiting)
            && let Kept::Coming(_) = entry.payload
        {
            entry.accepted = Some(target);
            return;
        }
        let Some(entry) = cx.common.waiting.remove(waiting) else {
            return;
        };
        self.waiting -= 1;
        let Kept::Here(name) = entry.payload else {
            self.begin(entry.arrival, target, sender, cx);
            return;
        };
        let len_bytes = entry.arrival.len_bytes;
        if len_bytes > target.capacity_bytes {
            self.truncated(entry.arrival, target, sender, cx);
        } else {
            let bytes = cx.common.pool.get(name).unwrap_or(&[]);
            let placed = bytes
                .get(..len_bytes as usize)
                .is_some_and(|bytes| cx.up.place(target.op, 0, bytes));
            self.end(entry.arrival, target, placed, sender, cx);
        }
        self.free(Class::Normal, name, cx);
    }

    /// Gives back what a message of this class had in the pool.
    fn free<U: Upcalls>(&mut self, class: Class, name: Name, cx: &mut Context<'_, U>) {
        if let Some((_, size)) = cx.common.pool.give_back(name) {
            match class {
                Class::System => self.pool_bytes.give_back(size),
                Class::Normal => self.kept_bytes.give_back(size),
            }
        }
    }

    /// A message whose payload is with its sender has met a buffer.
    fn begin<U: Upcalls>(
        &mut self,
        arrival: Arrival,
        target: Target,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) {
        if arrival.len_bytes > target.capacity_bytes {
            self.truncated(arrival, target, sender, cx);
        } else if arrival.len_bytes == 0 {
            self.end(arrival, target, true, sender, cx);
        } else {
            self.ungranted.push_back((arrival, target));
            self.grant(sender, cx);
        }
    }

    /// Asks for messages in the order in which they have met their buffers.
    fn grant<U: Upcalls>(&mut self, sender: Sender, cx: &mut Context<'_, U>) {
        while self.granted < GRANTS_MAX {
            let Some((arrival, target)) = self.ungranted.pop_front() else {
                break;
            };
            self.open(arrival, 0, To::Target(target), true);
            if self.is_entered {
                let (message, len_bytes) = (arrival.message, arrival.len_bytes);
                cx.up
                    .granted(sender.connection, message, target.op, len_bytes);
            }
            self.controls.push_back(Packet::cts(arrival.message));
        }
    }

    fn truncated<U: Upcalls>(
        &mut self,
        arrival: Arrival,
        target: Target,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) {
        self.controls.push_back(Packet::fin_error(
            arrival.message,
            FinStatus::Truncated,
            target.capacity_bytes,
        ));
        let error = OpError::Truncated {
            len_bytes: arrival.len_bytes,
            capacity_bytes: target.capacity_bytes,
        };
        cx.up.received(
            sender.peer,
            arrival.channel,
            target.op,
            arrival.len_bytes,
            Err(error),
        );
    }

    /// A message is in its buffer, or could not be placed there.
    fn end<U: Upcalls>(
        &mut self,
        arrival: Arrival,
        target: Target,
        placed: bool,
        sender: Sender,
        cx: &mut Context<'_, U>,
    ) {
        if placed {
            self.tell_end(arrival);
        } else {
            self.controls
                .push_back(Packet::fin_error(arrival.message, FinStatus::Fault, 0));
        }
        let result = if placed { Ok(()) } else { Err(OpError::Fault) };
        cx.up.received(
            sender.peer,
            arrival.channel,
            target.op,
            arrival.len_bytes,
            result,
        );
    }

    /// Ends of neighbours are told together ([WIRE-6.6]).
    fn tell_end(&mut self, arrival: Arrival) {
        let message = arrival.message;
        self.ended = match self.ended {
            Some((first, last)) if arrival.previous == Some(last) => Some((first, message)),
            Some((first, last)) => {
                self.controls.push_back(Packet::fin_ok(first, last));
                Some((message, message))
            }
            None => Some((message, message)),
        };
    }

    /// Ends everything: the sender is gone.
    pub fn fail_all<U: Upcalls>(
        &mut self,
        sender: Sender,
        error: OpError,
        cx: &mut Context<'_, U>,
    ) {
        for open in std::mem::take(&mut self.open) {
            match open.to {
                To::Pool(name) => self.free(Class::System, name, cx),
                To::Target(target) => fail(open.arrival, target, error, sender, cx),
                To::Waiting(_) => {}
            }
        }
        for (arrival, target) in std::mem::take(&mut self.ungranted) {
            fail(arrival, target, error, sender, cx);
        }
        if self.waiting > 0 {
            self.withdraw_all(sender, error, cx);
        }
    }

    fn withdraw_all<U: Upcalls>(
        &mut self,
        sender: Sender,
        error: OpError,
        cx: &mut Context<'_, U>,
    ) {
        let mut names: Vec<Name> = cx
            .common
            .waiting
            .iter()
            .filter(|(_, entry)| entry.connection == sender.connection)
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable_by_key(|name| name.slot);
        for name in names {
            let Some(entry) = cx.common.waiting.remove(name) else {
                continue;
            };
            if let Kept::Coming(buffer) | Kept::Here(buffer) = entry.payload {
                self.free(Class::Normal, buffer, cx);
            }
            match entry.accepted {
                Some(target) => fail(entry.arrival, target, error, sender, cx),
                None => {
                    let message = MessageId {
                        slot: name.slot,
                        number: name.number,
                    };
                    cx.up.withdrawn(message, entry.arrival.channel);
                }
            }
        }
        self.waiting = 0;
    }
}

fn fail<U: Upcalls>(
    arrival: Arrival,
    target: Target,
    error: OpError,
    sender: Sender,
    cx: &mut Context<'_, U>,
) {
    cx.up.received(
        sender.peer,
        arrival.channel,
        target.op,
        arrival.len_bytes,
        Err(error),
    );
}

/// The program gets a system message.
#[inline]
pub fn deliver_system<U: Upcalls>(
    name: Name,
    len_bytes: u64,
    immediate: u64,
    sender: Sender,
    cx: &mut Context<'_, U>,
) {
    cx.common.pool.lend(name);
    let message = SystemHandle {
        slot: name.slot,
        number: name.number,
        len_bytes: len_bytes as u32,
    };
    let bytes = cx.common.pool.get(name).unwrap_or(&[]);
    let bytes = bytes.get(..len_bytes as usize).unwrap_or(&[]);
    cx.up.system(sender.peer, message, immediate, bytes);
}

/// Puts bytes into a buffer; false if they do not fit.
#[inline]
pub fn copy(pool: &mut Buffers, name: Name, offset: u64, payload: &[u8]) -> bool {
    let place = pool
        .get_mut(name)
        .zip(usize::try_from(offset).ok())
        .and_then(|(bytes, at)| bytes.get_mut(at..at.checked_add(payload.len())?));
    place.is_some_and(|place| {
        place.copy_from_slice(payload);
        true
    })
}
