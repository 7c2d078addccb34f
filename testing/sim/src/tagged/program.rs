//! What programs ask of their endpoints: each draws its own operations, and in the end receives what is left.

use std::collections::BTreeMap;

use bcl_adi::{
    EAGER_MAX, Error, INJECT_MAX, Id, Memory, Piece, Receive, SPACES, Send, Source, Wanted, When,
};
use bcl_types::Random;

use super::judge::{Sending, USED};
use super::lists::{Posted, Sent};
use super::{TaggedPort, text};
use crate::oracle::{Seat, Violation};
use crate::party::Setup;
use crate::port::address;

/// The longest message, where links are quick.
const LONGEST_BYTES: usize = 200 << 10;
/// Tags are below; few, so that receives and messages of all kinds meet.
const TAGS: u64 = 4;

/// What a program wants yet.
pub struct Program {
    /// When it wants something next; `None`: it has no wishes left, and receives what there is.
    pub next_ns: Option<u64>,
    random: Random,
    gap_ns: u64,
    operations_left: u32,
    longest_bytes: usize,
    seats: usize,
    all_to_one: bool,
    to_itself: bool,
    last_context: u64,
    /// Messages that it has claimed, by their names, with their spaces.
    claims: Vec<(Id, u8, Sent)>,
    /// Of its connections with peers, the last by which it has sent something.
    begun: BTreeMap<Seat, u32>,
}

impl Program {
    pub fn new(now_ns: u64, setup: &Setup, random: Random) -> Self {
        let traffic = &setup.traffic;
        Self {
            next_ns: Some(now_ns),
            random,
            gap_ns: traffic.gap_ns,
            operations_left: 4 * traffic.operations,
            longest_bytes: traffic.longest_bytes.min(LONGEST_BYTES),
            seats: setup.addresses.len(),
            all_to_one: traffic.all_to_one,
            to_itself: traffic.to_itself,
            last_context: 0,
            claims: Vec::new(),
            begun: BTreeMap::new(),
        }
    }

    fn draw_source(&mut self) -> Option<Seat> {
        let seat = self.random.index(self.seats);
        (!self.random.one_in(3)).then_some(seat)
    }

    /// Tag and what of it is ignored.
    fn draw_tag(&mut self) -> (u64, u64) {
        let ignore = *self.random.pick(&[0, 0, 0, 1, !0, 2]);
        (self.random.below(TAGS), ignore)
    }

    /// Limits are likely.
    fn draw_len(&mut self) -> usize {
        let limits = [
            0,
            8,
            100,
            EAGER_MAX,
            EAGER_MAX + 1,
            8192,
            8193,
            INJECT_MAX,
            self.longest_bytes,
        ];
        let most = (*self.random.pick(&limits)).min(self.longest_bytes);
        match self.random.below(3) {
            0 => most,
            _ => self.random.between(0, most as u64) as usize,
        }
    }

    fn new_context(&mut self) -> u64 {
        self.last_context += 1;
        self.last_context
    }

    /// The memory, in one piece or in several.
    fn lend(&mut self, memory: &mut [u8]) -> Memory {
        let (start, len_bytes) = (memory.as_mut_ptr(), memory.len());
        if !self.random.one_in(4) {
            return Memory::one(start, len_bytes);
        }
        let middle = self.random.between(0, len_bytes as u64) as usize;
        let piece = |from: usize, to: usize| Piece {
            start: start.wrapping_add(from),
            len_bytes: to - from,
        };
        let pieces = [
            piece(0, middle),
            piece(middle, middle),
            piece(middle, len_bytes),
        ];
        Memory::several(&pieces).unwrap_or(Memory::one(start, len_bytes))
    }
}

impl TaggedPort {
    /// The program wants something.
    pub(super) fn act(&mut self, now_ns: u64) -> Result<(), Violation> {
        let program = &mut self.program;
        if program.operations_left == 0 {
            program.next_ns = None;
            return Ok(());
        }
        program.operations_left -= 1;
        let gap_ns = program.random.between(1, program.gap_ns + 1);
        program.next_ns = Some(now_ns + gap_ns);
        match program.random.below(20) {
            0..=8 => self.send(),
            9..=13 => self.receive_something(),
            14 => self.cancel(),
            15..=17 => self.claim(),
            _ => self.settle(),
        }
    }

    /// A program without wishes receives what there is, and wants no more than that. False if there is nothing to do.
    pub(super) fn tidy_up(&mut self) -> Result<bool, Violation> {
        if self.program.next_ns.is_some() {
            return Ok(false);
        }
        if !self.program.claims.is_empty() {
            return self.settle().map(|()| true);
        }
        for space in 0..SPACES as u8 {
            let mut ledger = self.judge.common.borrow_mut();
            let lists = ledger.lists(self.judge.seat, space);
            let posted = lists.posted.first().map(|posted| posted.context);
            let waiting = lists.waiting.first().map(|sent| sent.bytes.len());
            drop(ledger);
            if let Some(context) = posted {
                return self.cancel_one(space, context).map(|()| true);
            }
            if let Some(len_bytes) = waiting {
                let wanted = (space, None, 0, !0);
                return self.receive(wanted, len_bytes, None).map(|()| true);
            }
        }
        Ok(false)
    }

    fn send(&mut self) -> Result<(), Violation> {
        let (program, judge) = (&mut self.program, &mut self.judge);
        let to = match program.all_to_one {
            true => 0,
            false => program.random.index(program.seats),
        };
        if to == judge.seat && !program.to_itself {
            return Ok(());
        }
        let (len_bytes, tag) = (program.draw_len(), program.random.below(TAGS));
        let space = program.random.below(SPACES as u64) as u8;
        let when = match program.random.below(4) {
            0 if len_bytes <= INJECT_MAX => When::Injected,
            1 => When::Delivered,
            _ => When::Reusable,
        };
        let number = judge.common.borrow_mut().new_number();
        let epoch = judge.epoch(to);
        let is_first = program.begun.get(&to) != Some(&epoch.1);
        // No two messages are alike.
        let bears_number = is_first || len_bytes < 8 || program.random.one_in(2);
        let sent = Sent {
            from: judge.seat,
            tag,
            data: bears_number.then_some(number),
            bytes: Random::new(number).bytes(len_bytes),
            ..Sent::default()
        };
        let mut memory = sent.bytes.clone();
        let (context, is_quiet) = (program.new_context(), program.random.one_in(4));
        let send = Send {
            to: address(to),
            space,
            tag,
            data: sent.data,
            memory: program.lend(&mut memory),
            context,
            mark: 0,
            when,
            quiet: is_quiet,
        };
        // SAFETY: the judge keeps the memory as long as the process lives, and leaves it alone until the completion.
        match unsafe { self.engine.send(&mut self.wire, send) } {
            Ok(()) => {
                if when == When::Injected {
                    memory.fill(USED);
                }
                program.begun.insert(to, epoch.1);
                let sending = Sending {
                    to,
                    flying_number: number,
                    tag,
                    space,
                    epoch,
                    memory,
                    is_quiet,
                    to_be_delivered: bears_number && when == When::Delivered,
                };
                judge.sent(context, sending, sent);
                Ok(())
            }
            Err(Error::Again { .. } | Error::Lost { .. }) => {
                judge.common.borrow_mut().tally.refused += 1;
                Ok(())
            }
            Err(error) => Err(text(error)),
        }
    }

    fn receive_something(&mut self) -> Result<(), Violation> {
        let program = &mut self.program;
        let space = program.random.below(SPACES as u64) as u8;
        let source = program.draw_source();
        let (tag, ignore) = program.draw_tag();
        let len_bytes = program.draw_len();
        let wanted = (space, source, tag, ignore);
        if program.random.one_in(4) {
            let least = program.random.between(0, len_bytes as u64) as usize;
            return self.receive(wanted, 2 * len_bytes + 500, Some(least));
        }
        self.receive(wanted, len_bytes, None)
    }

    fn receive(
        &mut self,
        (space, from, tag, ignore): (u8, Option<Seat>, u64, u64),
        len_bytes: usize,
        multi: Option<usize>,
    ) -> Result<(), Violation> {
        let context = self.program.new_context();
        let mut memory = vec![0xdd; len_bytes];
        let receive = Receive {
            wanted: wanted(space, from, tag, ignore),
            memory: match multi {
                None => self.program.lend(&mut memory),
                Some(_) => Memory::one(memory.as_mut_ptr(), len_bytes),
            },
            context,
            mark: 0,
            multi_min_free_bytes: multi,
        };
        let posted = Posted {
            context,
            from,
            tag,
            ignore,
            used: 0,
            free: len_bytes,
            multi,
        };
        self.judge.post(space, posted, memory);
        // SAFETY: the judge keeps the memory as long as the process lives, and leaves it alone until it is released.
        unsafe { self.engine.receive(&mut self.wire, receive) }.map_err(text)
    }

    fn cancel(&mut self) -> Result<(), Violation> {
        let space = self.program.random.below(SPACES as u64) as u8;
        let mut ledger = self.judge.common.borrow_mut();
        let posted = &ledger.lists(self.judge.seat, space).posted;
        if posted.is_empty() {
            return Ok(());
        }
        let context = self.program.random.pick(posted).context;
        drop(ledger);
        self.cancel_one(space, context)
    }

    fn cancel_one(&mut self, space: u8, context: u64) -> Result<(), Violation> {
        let mut ledger = self.judge.common.borrow_mut();
        let lists = ledger.lists(self.judge.seat, space);
        lists.posted.retain(|posted| posted.context != context);
        drop(ledger);
        if let Some(receiving) = self.judge.receives.get_mut(&context) {
            receiving.is_canceled = true;
        }
        self.engine.cancel(space, context).map_err(text)?;
        match self.engine.cancel(space, context) {
            Err(Error::NotFound(_)) => Ok(()),
            other => Err(format!("receive {context} was canceled twice: {other:?}")),
        }
    }

    fn claim(&mut self) -> Result<(), Violation> {
        let program = &mut self.program;
        let space = program.random.below(SPACES as u64) as u8;
        let source = program.draw_source();
        let (tag, ignore) = program.draw_tag();
        let wanted = wanted(space, source, tag, ignore);
        let found = self.engine.claim(&wanted).map_err(text)?;
        let mut ledger = self.judge.common.borrow_mut();
        let lists = ledger.lists(self.judge.seat, space);
        match (found, lists.claim(source, tag, ignore)) {
            (None, None) => Ok(()),
            (Some((probed, id)), Some(sent))
                if (probed.from, probed.tag, probed.data, probed.len_bytes)
                    == (
                        address(sent.from),
                        sent.tag,
                        sent.data,
                        sent.bytes.len() as u64,
                    ) =>
            {
                program.claims.push((id, space, sent));
                Ok(())
            }
            (found, sent) => Err(format!("claimed was {found:?}, and not {sent:?}")),
        }
    }

    /// Receives a message that it has claimed, or gets rid of it.
    fn settle(&mut self) -> Result<(), Violation> {
        let program = &mut self.program;
        if program.claims.is_empty() {
            return Ok(());
        }
        let place = program.random.index(program.claims.len());
        let (id, space, sent) = program.claims.swap_remove(place);
        let mut ledger = self.judge.common.borrow_mut();
        if program.random.one_in(2) {
            ledger.tally.discarded += 1;
            drop(ledger);
            let discarded = self.engine.discard_claimed(&mut self.wire, id);
            return discarded.map_err(text);
        }
        let context = program.new_context();
        let shorter = usize::from(program.random.one_in(4)).min(sent.bytes.len());
        let mut memory = vec![0xdd; sent.bytes.len() - shorter];
        let lent = program.lend(&mut memory);
        let lists = ledger.lists(self.judge.seat, space);
        lists.due.entry(context).or_default().push_back(sent);
        drop(ledger);
        self.judge.expect(space, context, memory);
        // SAFETY: as for a receive.
        let received = unsafe {
            self.engine
                .receive_claimed(&mut self.wire, id, lent, (context, 0))
        };
        received.map_err(text)
    }
}

fn wanted(space: u8, source: Option<Seat>, tag: u64, ignore: u64) -> Wanted {
    Wanted {
        space,
        source: source.map_or(Source::Any, |seat| Source::Peer(address(seat))),
        tag,
        ignore,
    }
}
