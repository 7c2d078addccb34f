//! Posting messages ([BBP-3]): a slot and room for each, until all that it is for have read it or are no more.

use bcl_reflect::Region;

use crate::error::Error;
use crate::layout::{Descriptor, Layout, SLOTS};
use crate::members::{Members, bits, place};
use crate::space::Space;

/// A message is given in so many parts, one behind the other.
pub const PARTS: usize = 2;

/// What a member has on the board.
#[derive(Debug)]
pub struct Sending {
    layout: Layout,
    own: u16,
    /// Of the last message.
    number: u64,
    /// Slots of no message, a bit each.
    free: u64,
    posts: Vec<Post>,
    others: Vec<Other>,
    /// Some have slots that are of no use for them.
    has_stuck: bool,
    space: Space,
    /// Of the message that is being posted.
    descriptor: Vec<u8>,
    flags: Vec<u8>,
}

/// A message, if its slot is not free.
#[derive(Debug, Clone, Copy, Default)]
struct Post {
    /// Who has not read it, as far as known.
    waits_for: Members,
    /// Where its room begins, if it does not stand in the descriptor.
    start: Option<u32>,
}

/// A member to whom is sent; bits are slots.
#[derive(Debug, Clone, Copy, Default)]
struct Other {
    /// Its flags, toggled with each message.
    flags: u64,
    /// What it has not read, as far as known.
    pending: u64,
    /// Its flags say so, but it was taken back when it had ended: whoever comes in its place has to see that first.
    stuck: u64,
}

impl Sending {
    /// Goes on where the process before has ended that was this member: what it had posted is still there ([BBP-4.3]).
    pub fn resume(region: &Region, layout: Layout) -> Result<Self, Error> {
        let own = region.member();
        let mut sending = Self {
            layout,
            own,
            number: 0,
            free: u64::MAX,
            posts: vec![Post::default(); usize::from(SLOTS)],
            others: vec![Other::default(); usize::from(layout.members)],
            has_stuck: false,
            space: Space::new(layout.data_bytes as u32),
            descriptor: Vec::new(),
            flags: Vec::new(),
        };
        for member in 0..layout.members {
            let flags = region.load(layout.message(own, member))?;
            let other = &mut sending.others[usize::from(member)];
            other.flags = flags;
            other.pending = flags ^ region.load(layout.ack(member, own))?;
        }
        for slot in 0..SLOTS {
            sending.find(region, slot)?;
        }
        Ok(sending)
    }

    /// What is in a slot.
    fn find(&mut self, region: &Region, slot: u16) -> Result<(), Error> {
        let layout = &self.layout;
        let mut bytes = vec![0; layout.descriptor_bytes()];
        region.read(layout.descriptor(self.own, slot), &mut bytes)?;
        let (descriptor, _) = Descriptor::get(layout, &bytes);
        let bit = 1 << slot;
        let mut post = Post::default();
        for member in 0..layout.members {
            let other = &mut self.others[usize::from(member)];
            if other.pending & bit != 0 {
                match descriptor.to.has(member) {
                    true => post.waits_for.add(member),
                    false => {
                        other.pending &= !bit;
                        other.stuck |= bit;
                        self.has_stuck = true;
                    }
                }
            }
        }
        self.number = self.number.max(descriptor.number);
        if post.waits_for.is_empty() {
            return Ok(());
        }
        let is_inline = descriptor.len_bytes as usize <= layout.inline_max();
        let has_room = is_inline || self.space.retake(descriptor.start, descriptor.len_bytes);
        // A program that ran wild: what others read there is whatever it is.
        if has_room {
            post.start = (!is_inline).then_some(descriptor.start);
        }
        self.free &= !bit;
        self.posts[usize::from(slot)] = post;
        Ok(())
    }

    /// Posts a message; false if there is no room for it.
    pub fn post(
        &mut self,
        region: &Region,
        to: &Members,
        data: [&[u8]; PARTS],
    ) -> Result<bool, Error> {
        let len_bytes = data.iter().map(|part| part.len()).sum();
        let found = match self.make_room(to, len_bytes) {
            None => {
                self.reclaim(region)?;
                self.make_room(to, len_bytes)
            }
            found => found,
        };
        let Some((slot, start)) = found else {
            return Ok(false);
        };
        let written = self.write(region, slot, start, to, data);
        if written.is_err() {
            self.give_back(start);
            return written.map(|()| false);
        }
        let bit = 1 << slot;
        self.free &= !bit;
        let waits_for = *to;
        self.posts[usize::from(slot)] = Post { waits_for, start };
        for member in to.iter() {
            let other = &mut self.others[usize::from(member)];
            other.flags ^= bit;
            other.pending |= bit;
        }
        self.number += 1;
        Ok(true)
    }

    /// A slot, and where room begins if the message does not stand in the descriptor.
    fn make_room(&mut self, to: &Members, len_bytes: usize) -> Option<(u16, Option<u32>)> {
        let mut usable = self.free;
        if self.has_stuck {
            let stuck = to
                .iter()
                .map(|member| self.others[usize::from(member)].stuck);
            usable &= !stuck.fold(0, |all, stuck| all | stuck);
        }
        let slot = (usable != 0).then(|| usable.trailing_zeros() as u16)?;
        let start = match len_bytes <= self.layout.inline_max() {
            true => None,
            false => Some(self.space.take(len_bytes as u32)?),
        };
        Some((slot, start))
    }

    fn give_back(&mut self, start: Option<u32>) {
        if let Some(start) = start {
            self.space.give_back(start);
        }
    }

    /// The message, then what says where it is, then for whom: in this order others see it ([REFLECT-3.3]).
    fn write(
        &mut self,
        region: &Region,
        slot: u16,
        start: Option<u32>,
        to: &Members,
        data: [&[u8]; PARTS],
    ) -> Result<(), Error> {
        let (layout, own) = (&self.layout, self.own);
        let len_bytes: usize = data.iter().map(|part| part.len()).sum();
        let descriptor = Descriptor {
            number: self.number + 1,
            start: start.unwrap_or_default(),
            len_bytes: len_bytes as u32,
            to: *to,
        };
        self.descriptor.clear();
        descriptor.put(layout, &mut self.descriptor);
        if start.is_none() {
            data.iter()
                .for_each(|part| self.descriptor.extend_from_slice(part));
        }
        let (first, last) = to.ends();
        self.flags.clear();
        for member in first..=last {
            let flags = self.others[usize::from(member)].flags;
            let toggled = flags ^ u64::from(to.has(member)) << slot;
            self.flags.extend_from_slice(&toggled.to_ne_bytes());
        }
        let data_at = layout.data(own) + u64::from(descriptor.start);
        let [one, other] = data;
        let writes = [
            (data_at, one),
            (data_at + one.len() as u64, other),
            (layout.descriptor(own, slot), &self.descriptor),
            (layout.message(own, first), &self.flags),
        ];
        let needed = if start.is_some() {
            &writes
        } else {
            &writes[PARTS..]
        };
        Ok(region.write_each(needed)?)
    }

    /// Frees what has been read by all that it was for ([BBP-3.3]).
    pub fn reclaim(&mut self, region: &Region) -> Result<(), Error> {
        self.has_stuck = false;
        for member in 0..self.layout.members {
            let other = &mut self.others[usize::from(member)];
            if other.pending | other.stuck == 0 {
                continue;
            }
            let unread = other.flags ^ region.load(self.layout.ack(member, self.own))?;
            let read = other.pending & !unread;
            other.pending &= unread;
            other.stuck &= unread;
            self.has_stuck |= other.stuck != 0;
            for slot in bits(read) {
                self.has_been_read(slot, member);
            }
        }
        Ok(())
    }

    /// Or will not be.
    fn has_been_read(&mut self, slot: u16, by: u16) {
        let post = &mut self.posts[usize::from(slot)];
        post.waits_for.remove(by);
        if post.waits_for.is_empty() {
            self.free |= 1 << slot;
            let start = post.start.take();
            self.give_back(start);
        }
    }

    /// What a member that has ended has not read is taken back; says how many messages that were ([BBP-4.1]).
    pub fn take_back(&mut self, region: &Region, member: u16) -> Result<u32, Error> {
        self.reclaim(region)?;
        let other = &mut self.others[usize::from(member)];
        let unread = std::mem::take(&mut other.pending);
        other.stuck |= unread;
        self.has_stuck |= unread != 0;
        let (word, _) = place(member);
        for slot in bits(unread) {
            let mut left = self.posts[usize::from(slot)].waits_for;
            left.remove(member);
            let at = self.layout.destination(self.own, slot, member);
            // Before the slot is used again: who comes in its place looks here before it takes the message, and after.
            region.write_word(at, left.words(word + 1)[word])?;
            self.has_been_read(slot, member);
        }
        Ok(unread.count_ones())
    }

    /// Who has to read, or to see what was taken back, before there is more room: the words to wait for.
    pub fn awaited(&self) -> (Members, Vec<(u64, u64)>) {
        let others = (0..self.layout.members).zip(&self.others);
        let late = others.filter(|(_, other)| other.pending | other.stuck != 0);
        late.map(|(member, other)| {
            let seen = other.flags ^ (other.pending | other.stuck);
            (member, (self.layout.ack(member, self.own), seen))
        })
        .unzip()
    }

    /// Whether all has been read that was posted, as far as known.
    pub fn is_read(&self) -> bool {
        self.others.iter().all(|other| other.pending == 0)
    }
}
