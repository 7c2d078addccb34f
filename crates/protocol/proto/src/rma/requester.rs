//! The requester's half: asks, asks again if no answer comes, and knows when all of an operation is done.

use std::collections::VecDeque;

use bcl_types::{Address, OpError};
use bcl_wire::serial::distance;
use bcl_wire::{Header, Kind, READ_MAX, RmaStatus};

use super::SLOTS;
use super::asked::{Asked, Patience};
use super::reading::Reading;
use crate::common::Context;
use crate::connection::flights::Flights;
use crate::connection::packet::Packet;
use crate::names::{Action, Rma};
use crate::upcalls::Upcalls;
use bcl_types::{Span, Time};

/// So long after a read that had to be asked for again all others are padded.
const PADDING: Span = Span::from_ms(1000);

/// Packets that are read by one request, at most: as many as leave the owner in one system call.
const READ_PACKETS: u32 = 32;
/// For so many a request waits until the congestion window has room.
const READ_TRAIN: u64 = 16;

/// An operation of the program.
#[derive(Debug)]
struct Job {
    rma: Rma,
    /// Bytes that were asked for.
    asked_bytes: u64,
    /// Requests that were not answered.
    unanswered: u32,
    /// The slot of a put that has begun.
    slot: Option<u8>,
    error: Option<OpError>,
    value: u64,
    is_done: bool,
    last_sequence: u32,
}

/// What a request leaves with.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub now: Time,
    /// Longest payload of a packet.
    pub limit: u16,
    /// Packets of answers that may be under way.
    pub congestion_window: f64,
    /// An interface program may answer reads that are padded ([WIRE-11.7]).
    pub can_pad: bool,
}

/// One-sided operations that our program has asked for, in order, and of those under way what was asked.
#[derive(Debug, Default)]
pub struct Requester {
    jobs: VecDeque<Job>,
    /// Number of the front job.
    front: u64,
    /// The first job of which not all was asked, counted from the front.
    next: usize,
    asked: Option<Box<[Option<Asked>; SLOTS]>>,
    free: u64,
    operations: u32,
    /// Reads that were not answered.
    reads: u32,
    /// Their packets on the way, by which the congestion window is used at the other end.
    read_packets: u32,
    /// Slots to be asked again.
    again: u64,
    /// The peer's program did not answer of late: until then its interface program is to.
    pads_until: Time,
}

impl Requester {
    pub fn pending(&self) -> usize {
        self.jobs.len()
    }

    /// Packets that are on the way to answer reads.
    pub fn read_packets(&self) -> u32 {
        self.read_packets
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    pub fn push(&mut self, rma: Rma) {
        if self.asked.is_none() {
            self.asked = Some(Box::new([None; SLOTS]));
            self.free = u64::MAX;
        }
        self.jobs.push_back(Job {
            rma,
            asked_bytes: 0,
            unanswered: 0,
            slot: None,
            error: None,
            value: 0,
            is_done: false,
            last_sequence: 0,
        });
    }

    /// Whether a request could leave.
    #[inline]
    pub fn is_ready(&self, terms: &Terms) -> bool {
        self.again != 0 || self.may_go_on(terms)
    }

    /// Reads of several packets a program answers faster, as long as it answers.
    fn pads_all(&self, terms: &Terms) -> bool {
        terms.can_pad && terms.now < self.pads_until
    }

    fn may_go_on(&self, terms: &Terms) -> bool {
        let Some(job) = self.jobs.get(self.next) else {
            return false;
        };
        match job.rma.action {
            _ if job.slot.is_some() => true,
            _ if job.error.is_some() => false,
            _ if self.free == 0 => false,
            Action::Get { .. } if self.read_packets == 0 => true,
            Action::Get { len_bytes } => {
                let left = (len_bytes - job.asked_bytes).div_ceil(terms.limit.into());
                let train = if self.pads_all(terms) { 1 } else { READ_TRAIN };
                let packets = left.clamp(1, train) as u32;
                f64::from(self.read_packets + packets) <= terms.congestion_window
            }
            // A read that is asked again must not see what came after it ([WIRE-11.4]).
            Action::Put { .. } | Action::Atomic(_) => self.reads == 0,
        }
    }

    /// The next request, which will have this sequence.
    pub fn next_packet(&mut self, terms: &Terms, sequence: u32) -> Option<Packet> {
        if self.again != 0 {
            let slot = self.again.trailing_zeros() as usize;
            self.again &= self.again - 1;
            return self.ask_again(slot, terms, sequence);
        }
        if !self.may_go_on(terms) {
            return None;
        }
        let pads_all = self.pads_all(terms);
        let Terms {
            now,
            limit,
            congestion_window,
            can_pad,
        } = *terms;
        let room = (congestion_window as u32).saturating_sub(self.read_packets);
        let read_max = u32::from(limit) * room.clamp(1, READ_PACKETS);
        let number = self.front + self.next as u64;
        let job = self.jobs.get_mut(self.next)?;
        let asked = self.asked.as_deref_mut()?;
        let (slot, operation) = match job.slot {
            Some(slot) => (slot, asked[usize::from(slot)]?.operation),
            None => {
                let slot = self.free.trailing_zeros() as u8;
                self.free &= !(1 << slot);
                self.operations = self.operations.wrapping_add(1);
                job.unanswered += 1;
                (slot, self.operations)
            }
        };
        let at = job.asked_bytes;
        let (kind, total) = shape(&job.rma.action);
        let pads = pads_all || can_pad && total <= limit.into();
        let most = match kind {
            Kind::Get if !pads => read_max.min(READ_MAX),
            _ => limit.into(),
        };
        let len = (total - at).min(most.into()) as u32;
        job.asked_bytes += u64::from(len);
        job.last_sequence = sequence;
        let is_last = job.asked_bytes >= total;
        job.slot = (kind == Kind::Put && !is_last).then_some(slot);
        if is_last {
            self.next += 1;
        }
        let reading = match kind {
            Kind::Get => Reading::new(len, limit),
            _ => Reading::default(),
        };
        self.reads += u32::from(kind == Kind::Get);
        self.read_packets += reading.packets_under_way();
        let request = Asked {
            job: number,
            operation,
            kind,
            at,
            len,
            reading,
            sequence,
            sent_at: now,
            tries: 0,
            is_complete: is_last || kind != Kind::Put,
            was_silent: false,
            overtaken_at: None,
        };
        asked[usize::from(slot)] = Some(request);
        Some(request.packet(&job.rma, slot, pads))
    }

    fn ask_again(&mut self, slot: usize, terms: &Terms, sequence: u32) -> Option<Packet> {
        let Terms {
            now,
            limit,
            can_pad,
            ..
        } = *terms;
        let request = self.asked.as_deref_mut()?[slot].as_mut()?;
        let mut pads = false;
        if request.kind == Kind::Put && request.len > limit.into() {
            // The path has become narrower. All of it is there; what is sent with the question does not matter.
            request.at += u64::from(request.len - u32::from(limit));
            request.len = limit.into();
        }
        if request.kind == Kind::Get {
            self.read_packets -= request.reading.packets_under_way();
            pads = request.go_on(limit, can_pad, &mut self.operations);
            self.read_packets += request.reading.packets_under_way();
        }
        request.sent_at = now;
        request.overtaken_at = None;
        request.sequence = sequence;
        let request = *request;
        let job = self.job(request.job)?;
        job.last_sequence = sequence;
        Some(request.packet(&job.rma, slot as u8, pads))
    }

    fn job(&mut self, number: u64) -> Option<&mut Job> {
        let index = number.checked_sub(self.front)?;
        self.jobs.get_mut(index as usize)
    }

    /// When requests that have arrived should have been answered ([WIRE-11.5]).
    pub fn deadline(&self, patience: Patience) -> Option<Time> {
        if self.jobs.is_empty() || self.again != 0 {
            return None;
        }
        let asked = self.asked.as_deref()?;
        asked
            .iter()
            .flatten()
            .filter(|request| request.is_complete)
            .map(|request| request.due(patience))
            .min()
    }

    /// Notes which requests are to be asked again: those that have arrived, so that it is the answer that is lost.
    /// Returns how many packets that makes.
    pub fn find_unanswered(&mut self, now: Time, patience: Patience, flights: &Flights) -> u32 {
        let Some(asked) = self.asked.as_deref_mut() else {
            return 0;
        };
        let mut lost = 0;
        for (slot, request) in asked.iter_mut().enumerate() {
            let Some(request) = request.as_mut().filter(|request| request.is_complete) else {
                continue;
            };
            if request.due(patience) > now {
                continue;
            }
            if flights.has_arrived(request.sequence) {
                self.again |= 1 << slot;
                request.tries += 1;
                request.was_silent = request.reading.is_silent() && request.overtaken_at.is_none();
                lost += request.reading.packets_under_way().max(1);
            }
            // Not before it has arrived; that is seen to by the timers of all sequenced packets.
            request.sent_at = now;
            request.overtaken_at = None;
        }
        lost
    }

    /// ANSWER. Whether it is news of a request that was sent once.
    pub fn on_answer<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        peer: Address,
        flights: &mut Flights,
        cx: &mut Context<'_, U>,
    ) -> bool {
        let slot = usize::from(header.slot);
        let asked = self.asked.as_deref().and_then(|asked| *asked.get(slot)?);
        let Some(request) =
            asked.filter(|asked| asked.operation == header.message && asked.is_complete)
        else {
            self.on_late_answer(slot, header);
            return false;
        };
        let status = u8::try_from(header.length).ok();
        let Some(status) = status.and_then(RmaStatus::from_number) else {
            return false;
        };
        let is_over = match request.kind {
            Kind::Get if status == RmaStatus::Ok => self.on_piece(slot, header, payload, cx),
            _ => Some(true),
        };
        if is_over == Some(true) {
            self.on_over(slot, header, status, peer, flights, cx);
        }
        is_over.is_some() && request.tries == 0
    }

    /// What was asked for has been asked for again, and of the interface program: the owner's program is only slow.
    #[cold]
    fn on_late_answer(&mut self, slot: usize, header: &Header) {
        if distance(header.message, self.operations) > 0 {
            return;
        }
        self.pads_until = Time(0);
        let asked = self.asked.as_deref_mut();
        if let Some(Some(request)) = asked.and_then(|asked| asked.get_mut(slot)) {
            request.was_silent = false;
        }
    }

    /// Something of what is read; says whether that was all. `None` if it was not asked for, or has come before.
    fn on_piece<U: Upcalls>(
        &mut self,
        slot: usize,
        header: &Header,
        payload: &[u8],
        cx: &mut Context<'_, U>,
    ) -> Option<bool> {
        let request = self.asked.as_deref_mut()?[slot].as_mut()?;
        let before = request.reading.packets_under_way();
        if !request.reading.take(header.offset, payload.len()) {
            return None;
        }
        self.read_packets -= before - request.reading.packets_under_way();
        request.sent_at = cx.now;
        request.overtaken_at = request.overtaken_at.map(|_| cx.now);
        let Asked {
            job,
            at,
            len,
            reading,
            sequence,
            ..
        } = *request;
        if let Some(job) = self.job(job)
            && !cx.up.place(job.rma.op, at + header.offset, payload)
        {
            job.error = Some(OpError::Fault);
        }
        if reading.ends_with(header.offset, payload.len()) {
            self.overtake(sequence, cx.now);
        }
        let is_complete = reading.is_complete();
        let is_over = is_complete && reading.asked_bytes() == len;
        if is_complete && !is_over {
            self.again |= 1 << slot;
        }
        Some(is_over)
    }

    /// The end of what a request asked for has come: of all that was asked before the answers have left before.
    fn overtake(&mut self, sequence: u32, now: Time) {
        let asked = self.asked.iter_mut().flat_map(|asked| asked.iter_mut());
        for request in asked.flatten() {
            if request.kind == Kind::Get && distance(request.sequence, sequence) <= 0 {
                request.overtaken_at.get_or_insert(now);
            }
        }
    }

    /// A request has been answered.
    fn on_over<U: Upcalls>(
        &mut self,
        slot: usize,
        header: &Header,
        status: RmaStatus,
        peer: Address,
        flights: &mut Flights,
        cx: &mut Context<'_, U>,
    ) {
        let asked = self.asked.as_deref_mut();
        let Some(request) = asked.and_then(|asked| asked[slot].take()) else {
            return;
        };
        if request.kind == Kind::Get {
            self.reads -= 1;
            self.read_packets -= request.reading.packets_under_way();
            if request.was_silent {
                self.pads_until = cx.now + PADDING;
            }
        }
        self.free |= 1 << slot;
        self.again &= !(1 << slot);
        let Some(job) = self.job(request.job) else {
            return;
        };
        job.unanswered -= 1;
        if request.kind == Kind::Atomic {
            job.value = header.offset;
        }
        if let Some(error) = error(status) {
            job.error.get_or_insert(error);
        }
        let index = (request.job - self.front) as usize;
        self.finish(index, peer, flights, cx);
    }

    fn finish<U: Upcalls>(
        &mut self,
        index: usize,
        peer: Address,
        flights: &mut Flights,
        cx: &mut Context<'_, U>,
    ) {
        let job = &mut self.jobs[index];
        // A long read that was refused is not asked on.
        let is_given_up = job.error.is_some() && index == self.next;
        if job.unanswered > 0 || index >= self.next && !is_given_up {
            return;
        }
        if is_given_up {
            self.next += 1;
        }
        let job = &mut self.jobs[index];
        job.is_done = true;
        flights.forget_memory(job.rma.op, job.last_sequence);
        let result = job.error.map_or(Ok(()), Err);
        cx.up
            .rma_done(peer, job.rma.window, job.rma.op, job.value, result);
        while self.jobs.front().is_some_and(|job| job.is_done) {
            self.jobs.pop_front();
            self.front += 1;
            self.next -= 1;
        }
    }

    /// Ends everything.
    pub fn fail_all<U: Upcalls>(&mut self, peer: Address, error: OpError, cx: &mut Context<'_, U>) {
        for job in std::mem::take(&mut self.jobs) {
            if !job.is_done {
                let rma = job.rma;
                cx.up.rma_done(peer, rma.window, rma.op, 0, Err(error));
            }
        }
        *self = Self::default();
    }

    /// Everything is to be asked anew, in a connection that takes the place of this one.
    pub fn restart(&mut self) {
        let jobs = std::mem::take(&mut self.jobs);
        *self = Self::default();
        for job in jobs.into_iter().filter(|job| !job.is_done) {
            self.push(job.rma);
        }
    }
}

fn shape(action: &Action) -> (Kind, u64) {
    match *action {
        Action::Put { len_bytes } => (Kind::Put, len_bytes),
        Action::Get { len_bytes } => (Kind::Get, len_bytes),
        Action::Atomic(_) => (Kind::Atomic, 8),
    }
}

fn error(status: RmaStatus) -> Option<OpError> {
    match status {
        RmaStatus::Ok => None,
        RmaStatus::Denied => Some(OpError::RmaDenied),
        RmaStatus::Range => Some(OpError::RmaRange),
        RmaStatus::NoWindow => Some(OpError::NoWindow),
    }
}
