//! The sending half of a connection: what waits, what is on its way, what streams.

use std::collections::{HashMap, VecDeque};

use bcl_os::sync::{Ordering, bump};
use bcl_rings::Corrupt;
use bcl_tier::page::{Counter, Page};
use bcl_tier::{NormalSend, Pieces, Source, Upcalls};
use bcl_types::{Address, EAGER_MAX, OpError, OpId};

use super::fin;
use super::inbox::SYSTEM_CREDITS;
use super::incoming::Context;
use super::link::Link;
use super::message::{Kind, Message, inline_max};
use super::stage::Stages;
use super::streaming::{Manner, Streaming};
use crate::own_memory;

/// Longest message in a DMA buffer that is sent along with its cell. The receiver could read it where it lies, but for a short
/// one the announcement and its answer cost more than the copy.
pub const EAGER_DMA_MAX: usize = 1024;
/// Messages put off by the receiver that one sender may have; more wait at the sender ([SHM-4.5]).
///
/// Not less than the operations that a port may have under way: messages that wait on one channel never hold up
/// another ([SEM-4.2]).
pub const DEFERRED_MAX: usize = 4096;
/// Payload that the receiver keeps for messages put off; beyond that the sender keeps it ([SHM-4.5]).
pub const DEFERRED_EAGER_BYTES: usize = 64 << 10;
/// A system message that waits for a connection, or room.
#[derive(Debug)]
struct SystemSend {
    op: OpId,
    immediate: u64,
    data: Box<[u8]>,
}

#[derive(Debug)]
struct InFlight {
    send: NormalSend,
    /// The receiver will finish it with a cell of its own.
    deferred: bool,
    eager: bool,
}

/// What we send a peer, until it is complete.
#[derive(Debug, Default)]
pub struct Outgoing {
    system_waiting: VecDeque<SystemSend>,
    normal_waiting: VecDeque<NormalSend>,
    control: VecDeque<Message>,
    system_sent: u64,
    system_released_seen: u64,
    /// Normal messages that the receiver has handled; the number of the front of `in_flight`.
    handled: u64,
    in_flight: VecDeque<InFlight>,
    deferred: HashMap<u32, InFlight>,
    deferred_eager_bytes: usize,
    pub streaming: Streaming,
}

impl Outgoing {
    /// Whether there is something that a later call of [`push`](Self::push) could move.
    #[inline]
    pub fn has_work(&self) -> bool {
        !(self.control.is_empty()
            && self.system_waiting.is_empty()
            && self.normal_waiting.is_empty()
            && self.streaming.is_empty())
    }

    /// Whether sends wait for the receiver to handle them.
    #[inline]
    pub fn awaits_handling(&self) -> bool {
        !self.in_flight.is_empty()
    }

    pub fn pending(&self) -> usize {
        self.system_waiting.len()
            + self.normal_waiting.len()
            + self.in_flight.len()
            + self.deferred.len()
    }

    /// Cells that must go before others: they finish what the peer waits for.
    pub fn control(&mut self, message: Message) {
        self.control.push_back(message);
    }

    pub fn control_is_empty(&self) -> bool {
        self.control.is_empty()
    }

    /// Queues a system message for when there is a connection, or room.
    pub fn queue_system(&mut self, op: OpId, data: &[u8], immediate: u64) {
        self.system_waiting.push_back(SystemSend {
            op,
            immediate,
            data: data.into(),
        });
    }

    /// Queues a message for a normal channel.
    pub fn queue_normal(&mut self, send: NormalSend) {
        self.normal_waiting.push_back(send);
    }

    /// Takes out the oldest normal message that `wanted` picks of those that have not been put into a cell: the peer
    /// knows nothing of it.
    pub fn cancel_normal(&mut self, wanted: impl Fn(OpId) -> bool) -> Option<NormalSend> {
        let index = self
            .normal_waiting
            .iter()
            .position(|send| wanted(send.op))?;
        self.normal_waiting.remove(index)
    }

    /// Sends a system message if it can go at once.
    #[inline]
    pub fn try_system(
        &mut self,
        link: &mut Link,
        handled: u32,
        data: &[u8],
        immediate: u64,
        counters: &Page,
    ) -> Result<bool, Corrupt> {
        if !self.system_waiting.is_empty() || !self.control.is_empty() {
            return Ok(false);
        }
        self.put_system(link, handled, data, immediate, counters)
    }

    fn put_system(
        &mut self,
        link: &mut Link,
        handled: u32,
        data: &[u8],
        immediate: u64,
        counters: &Page,
    ) -> Result<bool, Corrupt> {
        if self.system_sent - self.system_released_seen >= SYSTEM_CREDITS {
            let released = link.pair.peer_returns().system.load(Ordering::Acquire);
            if released < self.system_released_seen || released > self.system_sent {
                return Err(Corrupt("count of released system messages"));
            }
            self.system_released_seen = released;
            if self.system_sent - released >= SYSTEM_CREDITS {
                return Ok(false);
            }
        }
        if link.pair.cells_out.free(1)? == 0 {
            return Ok(false);
        }
        let mut message = if data.len() <= inline_max(immediate) {
            Message::with_inline(Kind::System, 0, data)
        } else {
            let Some(place) = link.pair.pool_out.reserve(data.len() as u32)? else {
                return Ok(false);
            };
            // SAFETY: `reserve` returned room for `data.len()` bytes that nobody else writes.
            unsafe { bcl_os::copy(data.as_ptr(), place, data.len()) };
            link.pair.pool_out.hand_on(place, data.len() as u32);
            Message::with_payload(Kind::System, 0, data.len() as u32)
        };
        message.handled = handled;
        message.immediate = immediate;
        link.pair.cells_out.send(&message.encode());
        if !message.inline {
            link.pair.pool_out.prepare(message.len_bytes);
        }
        self.system_sent += 1;
        bump(counters.counter(Counter::SystemSent), 1);
        bump(counters.counter(Counter::BytesSent), data.len() as u64);
        Ok(true)
    }

    /// Starts a send on a normal channel if it can go at once.
    #[inline]
    pub fn try_normal(
        &mut self,
        link: &mut Link,
        handled: u32,
        send: &NormalSend,
    ) -> Result<bool, Corrupt> {
        if !self.normal_waiting.is_empty() || !self.control.is_empty() {
            return Ok(false);
        }
        self.put_normal(link, handled, send)
    }

    fn put_normal(
        &mut self,
        link: &mut Link,
        handled: u32,
        send: &NormalSend,
    ) -> Result<bool, Corrupt> {
        if self.deferred.len() + self.in_flight.len() >= DEFERRED_MAX
            || link.pair.cells_out.free(1)? == 0
        {
            return Ok(false);
        }
        let source = send.source;
        let longest = if source.region.is_some() {
            EAGER_DMA_MAX
        } else {
            EAGER_MAX
        };
        let len_bytes = source.memory.len_bytes();
        let eager =
            len_bytes <= longest && self.deferred_eager_bytes + len_bytes <= DEFERRED_EAGER_BYTES;
        let Some(mut message) = (if eager {
            eager_message(link, send)?
        } else {
            Some(rts_message(send))
        }) else {
            return Ok(false);
        };
        message.handled = handled;
        message.immediate = send.immediate;
        link.pair.cells_out.send(&message.encode());
        if eager && !message.inline {
            link.pair.stream_out.prepare(message.len_bytes);
        }
        self.in_flight.push_back(InFlight {
            send: *send,
            deferred: !eager,
            eager,
        });
        Ok(true)
    }

    /// Moves what can be moved. Returns whether any cell was published.
    pub fn push(
        &mut self,
        link: &mut Link,
        handled: u32,
        up: &mut impl Upcalls,
        ctx: &Context<'_>,
    ) -> Result<bool, Corrupt> {
        let (to, counters) = (ctx.from, ctx.counters);
        let mut moved = false;
        while !self.control.is_empty() && link.pair.cells_out.free(1)? > 0 {
            if let Some(mut message) = self.control.pop_front() {
                message.handled = handled;
                link.pair.cells_out.send(&message.encode());
                moved = true;
            }
        }
        if !self.control.is_empty() {
            return Ok(moved);
        }
        moved |= self.streaming.push(link, handled, ctx.stages)?;
        while let Some(send) = self.system_waiting.pop_front() {
            if !self.put_system(link, handled, &send.data, send.immediate, counters)? {
                self.system_waiting.push_front(send);
                break;
            }
            up.sent(to, 0, send.op, send.data.len() as u64, Ok(()));
            moved = true;
        }
        while let Some(send) = self.normal_waiting.pop_front() {
            if !self.put_normal(link, handled, &send)? {
                self.normal_waiting.push_front(send);
                break;
            }
            moved = true;
        }
        Ok(moved)
    }

    /// The receiver has room for a streamed message; perhaps because the kernel could not read the payload.
    pub fn on_cts(
        &mut self,
        [number, is_unreadable, stage, is_past_caches, ..]: [u64; 6],
        link: &Link,
        stages: &Stages,
    ) -> Result<(), Corrupt> {
        let number = number as u32;
        let flight = self
            .find(number)
            .ok_or(Corrupt("number of a message to stream"))?;
        if flight.eager {
            return Err(Corrupt("asked to stream a message already sent"));
        }
        let memory = flight.send.source.memory;
        if self.streaming.holds(number) {
            return Err(Corrupt("asked twice to stream a message"));
        }
        if is_unreadable != 0 && !own_memory::is_readable(memory.table()) {
            let number = u64::from(number);
            self.control(Message::control(
                Kind::Unreadable,
                0,
                [number, 0, 0, 0, 0, 0],
            ));
            return Ok(());
        }
        let manner = Manner {
            stage,
            is_past_caches: is_past_caches != 0,
        };
        self.streaming.begin(number, memory, manner, link, stages);
        Ok(())
    }

    /// The receiver keeps a message until a buffer is posted for it.
    pub fn on_defer(&mut self, number: u32) -> Result<(), Corrupt> {
        let index = number.wrapping_sub(self.handled as u32) as usize;
        let flight = self
            .in_flight
            .get_mut(index)
            .ok_or(Corrupt("number of a message put off"))?;
        flight.deferred = true;
        Ok(())
    }

    /// The receiver has handled all messages before `handled` (low 32 bits of the count).
    #[inline]
    pub fn on_handled(
        &mut self,
        handled: u32,
        up: &mut impl Upcalls,
        to: Address,
        counters: &Page,
    ) -> Result<(), Corrupt> {
        // A finish, or a cell taken meanwhile, may have said more already.
        let newly = handled.wrapping_sub(self.handled as u32) as i32;
        if newly > 0 && newly as usize > self.in_flight.len() {
            return Err(Corrupt("count of handled messages"));
        }
        for _ in 0..newly {
            let Some(flight) = self.in_flight.pop_front() else {
                break;
            };
            let number = self.handled as u32;
            self.handled += 1;
            if flight.deferred {
                if flight.eager {
                    self.deferred_eager_bytes += flight.send.source.memory.len_bytes();
                }
                self.deferred.insert(number, flight);
            } else {
                complete(&flight.send, Ok(()), up, to, counters);
            }
        }
        Ok(())
    }

    /// Reads the peer's return line: used when no cell brought news for a while.
    pub fn check_handled(&self, link: &Link) -> Result<Option<u32>, Corrupt> {
        let handled = link.pair.peer_returns().handled();
        let newly = handled.saturating_sub(self.handled);
        if newly > self.in_flight.len() as u64 {
            return Err(Corrupt("count of handled messages"));
        }
        Ok((newly > 0).then_some(handled as u32))
    }

    /// The receiver has finished a message that it had put off.
    pub fn on_fin(
        &mut self,
        number: u32,
        status: u64,
        detail: u64,
        up: &mut impl Upcalls,
        to: Address,
        counters: &Page,
    ) -> Result<(), Corrupt> {
        // A finish may overtake the count of handled messages; what lies before it is then handled too.
        let ahead = number.wrapping_sub(self.handled as u32);
        if (ahead as usize) < self.in_flight.len() {
            self.on_handled(number.wrapping_add(1), up, to, counters)?;
        }
        let flight = self
            .deferred
            .remove(&number)
            .ok_or(Corrupt("number of a finished message"))?;
        if flight.eager {
            self.deferred_eager_bytes -= flight.send.source.memory.len_bytes();
        }
        if self.streaming.stop(number) {
            // The receiver has not waited for it ([SHM-4.14]).
            let no_more = [u64::from(number), 0, 0, 0, 0, 0];
            self.control(Message::control(Kind::Data, 0, no_more));
        }
        let result = fin::decode(status, detail, flight.send.source.memory.len_bytes() as u64);
        complete(&flight.send, result, up, to, counters);
        Ok(())
    }

    fn find(&self, number: u32) -> Option<&InFlight> {
        let index = number.wrapping_sub(self.handled as u32) as usize;
        self.in_flight
            .get(index)
            .or_else(|| self.deferred.get(&number))
    }

    /// Ends everything with an error.
    pub fn fail_all(&mut self, error: OpError, up: &mut impl Upcalls, to: Address) {
        for SystemSend { op, data, .. } in self.system_waiting.drain(..) {
            up.sent(to, 0, op, data.len() as u64, Err(error));
        }
        let deferred: Vec<_> = self
            .deferred
            .drain()
            .map(|(_, flight)| flight.send)
            .collect();
        let in_flight = self.in_flight.drain(..).map(|flight| flight.send);
        for send in deferred
            .into_iter()
            .chain(in_flight)
            .chain(self.normal_waiting.drain(..))
        {
            up.sent(
                to,
                send.channel,
                send.op,
                send.source.memory.len_bytes() as u64,
                Err(error),
            );
        }
        self.streaming = Streaming::default();
    }
}

fn eager_message(link: &mut Link, send: &NormalSend) -> Result<Option<Message>, Corrupt> {
    let (memory, channel) = (send.source.memory, send.channel);
    let len_bytes = memory.len_bytes();
    if len_bytes <= inline_max(send.immediate) {
        // SAFETY: the source stays valid until its operation completes.
        return Ok(Some(unsafe { inline_message(channel, &memory) }));
    }
    let Some(place) = link.pair.stream_out.reserve(len_bytes as u32)? else {
        return Ok(None);
    };
    // SAFETY: as above; `reserve` returned room for so many bytes that nobody else writes.
    unsafe { memory.copy_out(0, len_bytes, place) };
    link.pair.stream_out.hand_on(place, len_bytes as u32);
    Ok(Some(Message::with_payload(
        Kind::Eager,
        channel,
        len_bytes as u32,
    )))
}

/// # Safety
/// The memory can be read, and is not longer than fits the cell.
#[inline]
unsafe fn inline_message(channel: u16, memory: &Pieces) -> Message {
    let mut message = Message::inline(Kind::Eager, channel, memory.len_bytes() as u32);
    // SAFETY: by the contract.
    unsafe { memory.copy_out(0, memory.len_bytes(), message.args.as_mut_ptr().cast()) };
    message
}

fn rts_message(send: &NormalSend) -> Message {
    let Source { memory, region } = send.source;
    let (address, pieces) = memory.to_words();
    let (region, offset) = region.map_or((0, 0), |place| (place.region, place.offset));
    let len_bytes = memory.len_bytes() as u64;
    Message::control(
        Kind::Rts,
        send.channel,
        [len_bytes, address, region, offset, pieces as u64, 0],
    )
}

fn complete(
    send: &NormalSend,
    result: Result<(), OpError>,
    up: &mut impl Upcalls,
    to: Address,
    counters: &Page,
) {
    let len_bytes = send.source.memory.len_bytes() as u64;
    if result.is_ok() {
        bump(counters.counter(Counter::NormalSent), 1);
        bump(counters.counter(Counter::BytesSent), len_bytes);
    }
    up.sent(to, send.channel, send.op, len_bytes, result);
}
