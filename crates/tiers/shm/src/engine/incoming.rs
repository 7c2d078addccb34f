//! The receiving half of a connection: system messages, messages that wait for a buffer, and their transfer.

use std::collections::HashMap;

use bcl_os::sync::bump;
use bcl_rings::Corrupt;
use bcl_tier::page::{Counter, Page};
use bcl_tier::{Arrival, MessageId, PIECES_MAX, SystemHandle, Target, Upcalls};
use bcl_types::{Address, Cause, Device, EAGER_MAX, OpError};

use super::fin;
use super::inbox::Inbox;
use super::link::Link;
use super::message::{Kind, Message};
use super::outgoing::{DEFERRED_EAGER_BYTES, DEFERRED_MAX, Outgoing};
use super::stage::Stages;
use super::stage::seen::StageSeen;
use super::transfer::{Begun, By, Finished, Payload, Transfers};
use crate::service::Service;

/// A message that has arrived and for which no buffer was posted yet.
#[derive(Debug)]
enum Waiting {
    Eager(Box<[u8]>),
    Announced(Payload),
}

/// What the receiving half needs of its port.
pub struct Context<'a> {
    pub slot: u32,
    pub from: Address,
    pub counters: &'a Page,
    pub service: &'a Service,
    pub stages: &'a Stages,
}

/// What a peer sends us: what waits for a buffer, and what is being copied.
#[derive(Debug)]
pub struct Incoming {
    pub inbox: Inbox,
    /// Normal messages so far: the number of the next.
    arrived: u64,
    /// How many of them the sender may know to be handled.
    published: u64,
    waiting: HashMap<u32, (u16, Waiting)>,
    waiting_bytes: usize,
    /// Up to where the stream ring has been copied out and not yet released.
    stream_end: Option<u64>,
    transfers: Transfers,
    stage: StageSeen,
    /// Pieces taken from there.
    staged: u64,
}

impl Incoming {
    pub fn new() -> Self {
        Self {
            inbox: Inbox::new(),
            arrived: 0,
            published: 0,
            waiting: HashMap::new(),
            waiting_bytes: 0,
            stream_end: None,
            transfers: Transfers::default(),
            stage: StageSeen::default(),
            staged: 0,
        }
    }

    /// What goes into the `handled` field of every cell we send.
    #[inline]
    pub fn handled(&self) -> u32 {
        self.published as u32
    }

    /// Messages that wait for a buffer.
    pub fn unexpected(&self) -> usize {
        self.waiting.len()
    }

    /// Whether large messages are being copied: poll on, do not sleep.
    #[inline]
    pub fn is_copying(&self) -> bool {
        self.transfers.is_copying()
    }

    /// A message for the system channel.
    #[inline]
    pub fn on_system(
        &mut self,
        link: &mut Link,
        message: &Message,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) -> Result<(), Corrupt> {
        let (number, start) = self.inbox.accept(&mut link.pair, message)?;
        bump(ctx.counters.counter(Counter::SystemReceived), 1);
        bump(
            ctx.counters.counter(Counter::BytesReceived),
            u64::from(message.len_bytes),
        );
        let handle = SystemHandle {
            device: Device::Shm,
            slot: ctx.slot,
            link: link.id,
            number,
            start,
            len_bytes: message.len_bytes,
            immediate: message.immediate,
        };
        up.system(ctx.from, handle);
        Ok(())
    }

    /// A message for a normal channel with its payload.
    #[inline]
    pub fn on_eager(
        &mut self,
        link: &mut Link,
        out: &mut Outgoing,
        message: &Message,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) -> Result<(), Corrupt> {
        let len = message.len_bytes as usize;
        let (start, end) = if message.inline {
            (message.args.as_ptr().cast::<u8>(), None)
        } else {
            if len > EAGER_MAX {
                return Err(Corrupt("length of an eager message"));
            }
            let (start, end) = link.pair.stream_in.take(message.len_bytes)?;
            (start, Some(end))
        };
        // SAFETY: the payload lies in the cell's copy or in the ring, `len` bytes long.
        let payload = unsafe { std::slice::from_raw_parts(start, len) };
        let id = self.next_message(link, ctx);
        let number = id.number;
        match up.arrived(&arrival(ctx, id, message, len as u64)) {
            Some(target) => {
                let result = deliver(payload, target);
                if let Err(error) = result {
                    refuse(out, number, error);
                }
                received(ctx, up, message.channel, target, len as u64, result);
            }
            None => self.keep(out, number, message.channel, payload)?,
        }
        self.stream_end = end.or(self.stream_end);
        Ok(())
    }

    /// A message for a normal channel whose payload waits at the sender.
    pub fn on_rts(
        &mut self,
        link: &mut Link,
        out: &mut Outgoing,
        message: &Message,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) -> Result<(), Corrupt> {
        let [len_bytes, address, region, offset, pieces, _] = message.args;
        let pieces = usize::try_from(pieces).unwrap_or(usize::MAX);
        if pieces > PIECES_MAX {
            return Err(Corrupt("count of the pieces of a message"));
        }
        let payload = Payload {
            channel: message.channel,
            len_bytes,
            address,
            pieces,
            region,
            offset,
        };
        let id = self.next_message(link, ctx);
        let number = id.number;
        match up.arrived(&arrival(ctx, id, message, len_bytes)) {
            Some(target) => self.begin(link, out, number, payload, target, ctx, up),
            None => {
                self.check_room(0)?;
                self.waiting
                    .insert(number, (message.channel, Waiting::Announced(payload)));
            }
        }
        Ok(())
    }

    /// A piece of a streamed message, or the news that no more of it comes.
    pub fn on_data(
        &mut self,
        link: &mut Link,
        out: &mut Outgoing,
        message: &Message,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) -> Result<(), Corrupt> {
        let number = message.args[0] as u32;
        if message.len_bytes == 0 {
            return self.transfers.on_no_more(number);
        }
        let [_, stage, offset, shown, ..] = message.args;
        let len = message.len_bytes as usize;
        let finished = if stage == 0 {
            let (start, end) = link.pair.stream_in.take(message.len_bytes)?;
            let finished = self.transfers.on_data(number, start, len)?;
            link.pair.stream_in.release(end);
            self.stream_end = None;
            finished
        } else {
            let start = self.stage.piece(stage, offset, len)?;
            let finished = self.transfers.on_data(number, start, len)?;
            self.staged += 1;
            link.pair.my_returns().tell_staged(self.staged);
            finished
        };
        if self.stage.on_shown(shown) {
            ctx.service.ask_region(link.id, shown);
        }
        if let Some(finished) = finished {
            finish(out, finished, ctx, up);
        }
        Ok(())
    }

    /// The sender cannot read what it was to stream.
    pub fn on_unreadable(
        &mut self,
        out: &mut Outgoing,
        number: u32,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) -> Result<(), Corrupt> {
        let finished = self.transfers.on_unreadable(number)?;
        finish(out, finished, ctx, up);
        Ok(())
    }

    /// A buffer was posted for a message that waits; false if the message is not there any more.
    pub fn accept(
        &mut self,
        link: &mut Link,
        out: &mut Outgoing,
        number: u32,
        target: Target,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) -> bool {
        let Some((channel, waiting)) = self.waiting.remove(&number) else {
            return false;
        };
        match waiting {
            Waiting::Eager(bytes) => {
                self.waiting_bytes -= bytes.len();
                let result = deliver(&bytes, target);
                out.control(fin_message(number, result));
                received(ctx, up, channel, target, bytes.len() as u64, result);
            }
            Waiting::Announced(payload) => self.begin(link, out, number, payload, target, ctx, up),
        }
        true
    }

    /// Whether a sender may let us wait for what the kernel could copy: do not sleep.
    #[inline]
    pub fn awaits_stream(&self) -> bool {
        self.transfers.awaits_stream()
    }

    /// Copies a slice of a large message, if any; returns whether it did.
    pub fn progress(
        &mut self,
        link: &mut Link,
        out: &mut Outgoing,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) -> bool {
        let taken_back = self.transfers.hurry() as u64;
        if taken_back > 0 {
            bump(ctx.counters.counter(Counter::StreamsTakenBack), taken_back);
        }
        let Some(step) = self.transfers.copy_slice(link) else {
            return false;
        };
        self.act_on(step, link, out, ctx, up);
        true
    }

    /// The sender's DMA buffer has been mapped here, or cannot be.
    pub fn on_region(
        &mut self,
        link: &mut Link,
        out: &mut Outgoing,
        region: u64,
        mapping: Option<bcl_os::mapping::Mapping>,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) {
        let Some(mapping) = self.stage.on_region(region, mapping) else {
            return;
        };
        for (number, payload, target) in self.transfers.on_region(region, mapping) {
            self.begin(link, out, number, payload, target, ctx, up);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn begin(
        &mut self,
        link: &mut Link,
        out: &mut Outgoing,
        number: u32,
        payload: Payload,
        target: Target,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) {
        let step = self.transfers.begin(link, number, payload, target);
        self.act_on(step, link, out, ctx, up);
    }

    /// Sees to what a transfer needs next.
    fn act_on(
        &self,
        step: Begun,
        link: &Link,
        out: &mut Outgoing,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) {
        match step {
            Begun::Copying => {}
            Begun::NeedsStream {
                number,
                is_past_caches,
            } => out.control(self.cts(number, false, is_past_caches)),
            Begun::Unreadable(number) => out.control(self.cts(number, true, false)),
            Begun::NeedsRegion(region) => ctx.service.ask_region(link.id, region),
            Begun::Lost => ctx.service.lost(link.id),
            Begun::Finished(finished) => finish(out, finished, ctx, up),
        }
    }

    fn cts(&self, number: u32, is_unreadable: bool, is_past_caches: bool) -> Message {
        let [is_unreadable, is_past_caches] = [is_unreadable, is_past_caches].map(u64::from);
        let stage = self.stage.number();
        Message::control(
            Kind::Cts,
            0,
            [number.into(), is_unreadable, stage, is_past_caches, 0, 0],
        )
    }

    /// Keeps an eager message until a buffer is posted ([SHM-4.5]).
    fn keep(
        &mut self,
        out: &mut Outgoing,
        number: u32,
        channel: u16,
        payload: &[u8],
    ) -> Result<(), Corrupt> {
        self.check_room(payload.len())?;
        self.waiting_bytes += payload.len();
        self.waiting
            .insert(number, (channel, Waiting::Eager(payload.into())));
        out.control(defer(number));
        Ok(())
    }

    /// A correct sender stays below these bounds; a hostile one could fill our memory.
    fn check_room(&self, bytes: usize) -> Result<(), Corrupt> {
        let in_ring = 2 * DEFERRED_EAGER_BYTES + (1 << 20);
        if self.waiting.len() >= 2 * DEFERRED_MAX || self.waiting_bytes + bytes > in_ring {
            return Err(Corrupt("more messages waiting than the sender may have"));
        }
        Ok(())
    }

    /// Both ends number normal messages alike, by counting them.
    fn next_message(&mut self, link: &Link, ctx: &Context<'_>) -> MessageId {
        let number = self.arrived as u32;
        self.arrived += 1;
        MessageId {
            device: Device::Shm,
            slot: ctx.slot,
            link: link.id,
            number,
        }
    }

    /// Tells the sender what has been handled, after each batch of cells; false if it knows. A message put off
    /// counts only once the cell that says so has left: otherwise its sender would take it for completed ([SHM-4.4]).
    #[inline]
    pub fn publish(&mut self, link: &mut Link, out: &Outgoing) -> bool {
        if let Some(end) = self.stream_end.take() {
            link.pair.stream_in.release(end);
        }
        if self.published == self.arrived || !out.control_is_empty() {
            return false;
        }
        self.published = self.arrived;
        link.pair.my_returns().tell_handled(self.arrived);
        true
    }

    /// As if a sender had let its streams stand still.
    #[cfg(any(test, fuzzing))]
    pub fn lose_patience(&mut self) {
        self.transfers.take_back();
    }

    /// What has been found out about the ways that long messages come, for people.
    pub fn describe_ways(&self) -> String {
        self.transfers.describe_ways()
    }

    /// Ends everything: the sender is gone.
    pub fn fail_all(
        &mut self,
        cause: Cause,
        link_id: u64,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) {
        for (number, (channel, _)) in self.waiting.drain() {
            up.withdrawn(
                MessageId {
                    device: Device::Shm,
                    slot: ctx.slot,
                    link: link_id,
                    number,
                },
                channel,
            );
        }
        self.waiting_bytes = 0;
        for (channel, target, len_bytes) in self.transfers.drain() {
            received(ctx, up, channel, target, len_bytes, Err(cause.into()));
        }
    }
}

fn arrival(ctx: &Context<'_>, id: MessageId, message: &Message, len_bytes: u64) -> Arrival {
    Arrival {
        message: id,
        from: ctx.from,
        channel: message.channel,
        len_bytes,
        immediate: message.immediate,
    }
}

fn deliver(payload: &[u8], target: Target) -> Result<(), OpError> {
    let capacity_bytes = target.memory.len_bytes();
    if payload.len() > capacity_bytes {
        return Err(OpError::Truncated {
            len_bytes: payload.len() as u64,
            capacity_bytes: capacity_bytes as u64,
        });
    }
    // SAFETY: the poster vouches for its buffer until the post completes; it is long enough.
    unsafe { target.memory.copy_in(0, payload.len(), payload.as_ptr()) };
    Ok(())
}

fn finish(out: &mut Outgoing, finished: Finished, ctx: &Context<'_>, up: &mut impl Upcalls) {
    out.control(fin_message(finished.number, finished.result));
    if let (Ok(()), Some(by)) = (finished.result, finished.by) {
        let counter = match by {
            By::Region => Counter::LongFromDma,
            By::Kernel => Counter::LongByKernel,
            By::Ring => Counter::LongThroughRing,
        };
        bump(ctx.counters.counter(counter), 1);
    }
    received(
        ctx,
        up,
        finished.channel,
        finished.target,
        finished.len_bytes,
        finished.result,
    );
}

fn received(
    ctx: &Context<'_>,
    up: &mut impl Upcalls,
    channel: u16,
    target: Target,
    len_bytes: u64,
    result: Result<(), OpError>,
) {
    if result.is_ok() {
        bump(ctx.counters.counter(Counter::NormalReceived), 1);
        bump(ctx.counters.counter(Counter::BytesReceived), len_bytes);
    }
    up.received(ctx.from, channel, target.op, len_bytes, result);
}

/// An eager message that ends in an error is put off and finished at once.
fn refuse(out: &mut Outgoing, number: u32, error: OpError) {
    out.control(defer(number));
    out.control(fin_message(number, Err(error)));
}

fn defer(number: u32) -> Message {
    Message::control(Kind::Defer, 0, [u64::from(number), 0, 0, 0, 0, 0])
}

fn fin_message(number: u32, result: Result<(), OpError>) -> Message {
    let (status, detail) = fin::encode(result);
    Message::control(Kind::Fin, 0, [u64::from(number), status, detail, 0, 0, 0])
}
