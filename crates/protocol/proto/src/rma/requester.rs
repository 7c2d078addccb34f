//! The requester's half: asks, asks again if no answer comes, and knows when all of an operation is done.

use std::collections::VecDeque;

use bcl_types::{Address, Atomic, OpError};
use bcl_wire::body::AtomicBody;
use bcl_wire::{Flags, Header, Kind, RmaStatus};

use super::SLOTS;
use crate::common::Context;
use crate::connection::flights::Flights;
use crate::connection::packet::{Content, Packet};
use crate::names::{Action, Rma};
use crate::time::{Span, Time};
use crate::upcalls::Upcalls;

/// No answer is waited for longer, however often it was lost ([WIRE-11.5]): a peer that was stopped for a second, or a
/// path that loses every other packet, is no reason to be patient for seconds.
const MAX_PATIENCE: Span = Span::from_ms(250);

/// So long after a read that had to be asked for again all others are padded.
const PADDING: Span = Span::from_ms(1000);

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

/// A request that waits for its answer.
#[derive(Debug, Clone, Copy)]
struct Asked {
    /// Counts the jobs.
    job: u64,
    operation: u32,
    kind: Kind,
    /// Where in the operation's memory; of a put, its last piece.
    at: u64,
    len: u16,
    sequence: u32,
    sent_at: Time,
    tries: u32,
    /// All of it was sent.
    is_complete: bool,
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
    /// Reads that were not answered, by which the congestion window is used at the other end.
    gets: u32,
    /// Slots to be asked again.
    again: u64,
    /// The peer's program did not answer of late: until then its interface program is to.
    pads_until: Time,
}

impl Requester {
    pub fn pending(&self) -> usize {
        self.jobs.len()
    }

    /// Reads under way.
    pub fn reads(&self) -> u32 {
        self.gets
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

    /// Whether a request could leave; `congestion_window` is how many answers may be under way.
    #[inline]
    pub fn is_ready(&self, congestion_window: f64) -> bool {
        self.again != 0 || self.may_go_on(congestion_window)
    }

    fn may_go_on(&self, congestion_window: f64) -> bool {
        let Some(job) = self.jobs.get(self.next) else {
            return false;
        };
        match job.rma.action {
            _ if job.slot.is_some() => true,
            _ if job.error.is_some() => false,
            _ if self.free == 0 => false,
            Action::Get { .. } => f64::from(self.gets) < congestion_window.max(1.0),
            // A read that is asked again must not see what came after it ([WIRE-11.4]).
            Action::Put { .. } | Action::Atomic(_) => self.gets == 0,
        }
    }

    /// The next request, which will have this sequence. If it `can_pad` reads an interface program may answer them ([WIRE-11.7]).
    pub fn next_packet(
        &mut self,
        now: Time,
        limit: u16,
        congestion_window: f64,
        sequence: u32,
        can_pad: bool,
    ) -> Option<Packet> {
        if self.again != 0 {
            let slot = self.again.trailing_zeros() as usize;
            self.again &= self.again - 1;
            return self.ask_again(slot, now, limit, sequence, can_pad);
        }
        if !self.may_go_on(congestion_window) {
            return None;
        }
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
        let len = match kind {
            Kind::Atomic => 8,
            _ => (total - at).min(u64::from(limit)) as u16,
        };
        job.asked_bytes += u64::from(len);
        job.last_sequence = sequence;
        let is_last = job.asked_bytes >= total;
        job.slot = (kind == Kind::Put && !is_last).then_some(slot);
        if is_last {
            self.next += 1;
        }
        self.gets += u32::from(kind == Kind::Get);
        let request = Asked {
            job: number,
            operation,
            kind,
            at,
            len,
            sequence,
            sent_at: now,
            tries: 0,
            is_complete: is_last || kind != Kind::Put,
        };
        asked[usize::from(slot)] = Some(request);
        // Reads of several packets a program answers faster, as long as it answers.
        let pads = can_pad && (u64::from(len) == total || now < self.pads_until);
        Some(packet(&job.rma, &request, slot, pads))
    }

    fn ask_again(
        &mut self,
        slot: usize,
        now: Time,
        limit: u16,
        sequence: u32,
        can_pad: bool,
    ) -> Option<Packet> {
        let request = self.asked.as_deref_mut()?[slot].as_mut()?;
        if request.kind == Kind::Put && request.len > limit {
            // The path has become narrower. All of it is there; what is sent with the question does not matter.
            request.at += u64::from(request.len - limit);
            request.len = limit;
        }
        request.sent_at = now;
        request.tries += 1;
        request.sequence = sequence;
        let request = *request;
        let job = self.job(request.job)?;
        job.last_sequence = sequence;
        let pads = can_pad && request.len <= limit;
        Some(packet(&job.rma, &request, slot as u8, pads))
    }

    fn job(&mut self, number: u64) -> Option<&mut Job> {
        let index = number.checked_sub(self.front)?;
        self.jobs.get_mut(index as usize)
    }

    /// When requests that have arrived should have been answered ([WIRE-11.5]).
    pub fn deadline(&self, patience: Span) -> Option<Time> {
        if self.jobs.is_empty() || self.again != 0 {
            return None;
        }
        let asked = self.asked.as_deref()?;
        asked
            .iter()
            .flatten()
            .filter(|request| request.is_complete)
            .map(|request| due(request, patience))
            .min()
    }

    /// Notes which requests are to be asked again: those that have arrived, so that it is the answer that is lost.
    /// Returns how many.
    pub fn find_unanswered(&mut self, now: Time, patience: Span, flights: &Flights) -> u32 {
        let Some(asked) = self.asked.as_deref_mut() else {
            return 0;
        };
        let mut lost = 0;
        for (slot, request) in asked.iter_mut().enumerate() {
            let Some(request) = request.as_mut().filter(|request| request.is_complete) else {
                continue;
            };
            if due(request, patience) > now {
                continue;
            }
            if flights.has_arrived(request.sequence) {
                self.again |= 1 << slot;
                lost += 1;
            }
            // Not before it has arrived; that is seen to by the timers of all sequenced packets.
            request.sent_at = now;
        }
        lost
    }

    /// ANSWER. Returns when the request was sent, if it was sent once.
    pub fn on_answer<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        peer: Address,
        flights: &mut Flights,
        cx: &mut Context<'_, U>,
    ) -> Option<Time> {
        let slot = usize::from(header.slot);
        let place = self.asked.as_deref_mut()?.get_mut(slot)?;
        let request =
            place.filter(|request| request.operation == header.message && request.is_complete)?;
        let status = u8::try_from(header.length).ok();
        let status = status.and_then(RmaStatus::from_number)?;
        let reads = request.kind == Kind::Get && status == RmaStatus::Ok;
        if reads && payload.len() < usize::from(request.len) {
            return self.on_part(slot, payload, cx);
        }
        if reads && payload.len() > usize::from(request.len) {
            return None;
        }
        *place = None;
        if request.kind == Kind::Get && request.tries > 0 {
            self.pads_until = cx.now + PADDING;
        }
        self.free |= 1 << slot;
        self.again &= !(1 << slot);
        self.gets -= u32::from(request.kind == Kind::Get);
        let job = self.job(request.job)?;
        job.unanswered -= 1;
        job.value = header.offset;
        if reads && !cx.up.place(job.rma.op, request.at, payload) {
            job.error = Some(OpError::Fault);
        }
        if let Some(error) = error(status) {
            job.error.get_or_insert(error);
        }
        let index = (request.job - self.front) as usize;
        self.finish(index, peer, flights, cx);
        (request.tries == 0).then_some(request.sent_at)
    }

    /// The beginning of what was asked for, because the path takes no more: asks for the rest ([WIRE-11.6]).
    fn on_part<U: Upcalls>(
        &mut self,
        slot: usize,
        payload: &[u8],
        cx: &mut Context<'_, U>,
    ) -> Option<Time> {
        if payload.is_empty() {
            return None;
        }
        self.operations = self.operations.wrapping_add(1);
        let operation = self.operations;
        let request = self.asked.as_deref_mut()?[slot].as_mut()?;
        let (number, at) = (request.job, request.at);
        let sent_at = (request.tries == 0).then_some(request.sent_at);
        request.operation = operation;
        request.at += payload.len() as u64;
        request.len -= payload.len() as u16;
        request.tries = 0;
        self.again |= 1 << slot;
        let job = self.job(number)?;
        if !cx.up.place(job.rma.op, at, payload) {
            job.error = Some(OpError::Fault);
        }
        sent_at
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

/// When a request should have been answered: each time it is asked later.
fn due(request: &Asked, patience: Span) -> Time {
    request.sent_at + patience.times(1 << request.tries.min(8)).min(MAX_PATIENCE)
}

fn shape(action: &Action) -> (Kind, u64) {
    match *action {
        Action::Put { len_bytes } => (Kind::Put, len_bytes),
        Action::Get { len_bytes } => (Kind::Get, len_bytes),
        Action::Atomic(_) => (Kind::Atomic, 8),
    }
}

/// A read is padded if it `pads`.
fn packet(rma: &Rma, request: &Asked, slot: u8, pads: bool) -> Packet {
    let mut packet = Packet {
        channel: rma.window,
        slot: u16::from(slot),
        message: request.operation,
        offset: rma.offset.wrapping_add(request.at),
        length: u64::from(request.len),
        ..Packet::new(request.kind)
    };
    match rma.action {
        Action::Put { len_bytes } => {
            packet.length = len_bytes;
            if request.at == 0 {
                packet.flags |= Flags::FIRST;
            }
            if request.is_complete {
                packet.flags |= Flags::LAST;
            }
            if request.len > 0 {
                packet.payload = Content::Lent {
                    op: rma.op,
                    at: request.at,
                    len: request.len,
                };
            }
        }
        Action::Get { .. } if pads => {
            packet.flags |= Flags::PADDED;
            packet.payload = Content::Padding { len: request.len };
        }
        Action::Get { .. } => {}
        Action::Atomic(atomic) => packet.payload = Content::Words(words(atomic)),
    }
    packet
}

fn words(atomic: Atomic) -> [u64; 3] {
    let body = match atomic {
        Atomic::FetchAdd(value) => AtomicBody::FetchAdd(value),
        Atomic::CompareSwap { expected, new } => AtomicBody::CompareSwap { expected, new },
    };
    let bytes = body.to_bytes();
    let mut words = [0; 3];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = bytes
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    words
}

fn error(status: RmaStatus) -> Option<OpError> {
    match status {
        RmaStatus::Ok => None,
        RmaStatus::Denied => Some(OpError::RmaDenied),
        RmaStatus::Range => Some(OpError::RmaRange),
        RmaStatus::NoWindow => Some(OpError::NoWindow),
    }
}
