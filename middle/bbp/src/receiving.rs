//! Taking messages ([BBP-3.4]): flags that differ from what this member has acknowledged are messages for it.

use std::collections::VecDeque;

use bcl_reflect::Region;

use crate::error::Error;
use crate::layout::{Descriptor, Layout, SLOTS};
use crate::members::{bits, place};

/// Of the slots and of the room of a sender, so much is given back at once, and what is less within about a millisecond.
const UNTOLD_PARTS: u64 = 4;
const UNTOLD_MAX: u16 = SLOTS / UNTOLD_PARTS as u16;

/// A message that has been received, or is there to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Who has posted it.
    pub from: u16,
    /// Its length.
    pub len_bytes: usize,
}

/// What others have on the board for this member.
#[derive(Debug)]
pub struct Receiving {
    layout: Layout,
    own: u16,
    sources: Vec<Source>,
    /// Whose messages are looked for first.
    next: u16,
    descriptor: Vec<u8>,
}

/// A member's messages; bits are slots.
#[derive(Debug, Default)]
struct Source {
    /// Its flags as this member has acknowledged them.
    acks: u64,
    /// Those that are queued,
    queued: u64,
    /// in the order in which they were posted: number and slot.
    queue: VecDeque<(u64, u16)>,
    /// What it has not been told soon of.
    untold: Untold,
}

/// Messages of a member that this one has read since that had to know.
#[derive(Debug, Default)]
struct Untold {
    messages: u16,
    bytes: u64,
}

/// One that can be taken.
struct Message {
    from: u16,
    slot: u16,
    descriptor: Descriptor,
}

impl Receiving {
    /// Goes on where the process before has ended that was this member.
    pub fn resume(region: &Region, layout: Layout) -> Result<Self, Error> {
        let own = region.member();
        let source = |from| {
            let acks = region.load(layout.ack(own, from))?;
            Ok::<_, Error>(Source {
                acks,
                ..Source::default()
            })
        };
        Ok(Self {
            layout,
            own,
            sources: (0..layout.members).map(source).collect::<Result<_, _>>()?,
            next: 0,
            descriptor: vec![0; layout.descriptor_bytes()],
        })
    }

    /// Takes the next message, of a member or of any; `None` if there is none.
    pub fn take(
        &mut self,
        region: &Region,
        from: Option<u16>,
        buffer: &mut [u8],
    ) -> Result<Option<Received>, Error> {
        while let Some(message) = self.find(region, from)? {
            let len_bytes = message.descriptor.len_bytes as usize;
            let Some(room) = buffer.get_mut(..len_bytes) else {
                return Err(Error::Truncated {
                    from: message.from,
                    len_bytes,
                    room_bytes: buffer.len(),
                });
            };
            let is_there = self.copy(region, &message, room)?;
            self.acknowledge(region, message.from, message.slot, len_bytes)?;
            if is_there {
                self.next = (message.from + 1) % self.layout.members;
                let from = message.from;
                return Ok(Some(Received { from, len_bytes }));
            }
        }
        Ok(None)
    }

    /// The next message, which stays where it is.
    pub fn peek(&mut self, region: &Region, from: Option<u16>) -> Result<Option<Received>, Error> {
        let found = self.find(region, from)?;
        Ok(found.map(|message| Received {
            from: message.from,
            len_bytes: message.descriptor.len_bytes as usize,
        }))
    }

    fn find(&mut self, region: &Region, from: Option<u16>) -> Result<Option<Message>, Error> {
        let members = self.layout.members;
        let sources = match from {
            Some(from) => from..from + 1,
            None => self.next..self.next + members,
        };
        for source in sources {
            let found = self.first_of(region, source % members)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn first_of(&mut self, region: &Region, from: u16) -> Result<Option<Message>, Error> {
        let unread = self.look(region, from)?;
        while let Some((_, slot)) = self.source(from).queue.front().copied() {
            if unread & 1 << slot == 0 {
                // The flag was toggled once more, which no right program does.
                self.forget(from, slot);
                continue;
            }
            let descriptor = self.read(region, from, slot)?;
            if !descriptor.to.has(self.own) {
                // Taken back from the process before.
                self.acknowledge(region, from, slot, 0)?;
                continue;
            }
            if !descriptor.is_sound(&self.layout) {
                self.acknowledge(region, from, slot, 0)?;
                return Err(Error::Senseless { from });
            }
            return Ok(Some(Message {
                from,
                slot,
                descriptor,
            }));
        }
        Ok(None)
    }

    fn source(&mut self, from: u16) -> &mut Source {
        &mut self.sources[usize::from(from)]
    }

    /// Queues what is new of a member; says what this one has not read.
    #[inline]
    fn look(&mut self, region: &Region, from: u16) -> Result<u64, Error> {
        let flags = region.load(self.layout.message(from, self.own))?;
        let source = &self.sources[usize::from(from)];
        let unread = flags ^ source.acks;
        let new = unread & !source.queued;
        if new != 0 {
            self.queue(region, from, new)?;
        }
        Ok(unread)
    }

    fn queue(&mut self, region: &Region, from: u16, new: u64) -> Result<(), Error> {
        let mut numbered = VecDeque::with_capacity(new.count_ones() as usize);
        for slot in bits(new) {
            let is_alone = new.is_power_of_two();
            let number = match is_alone {
                true => 0,
                false => self.read(region, from, slot)?.number,
            };
            numbered.push_back((number, slot));
        }
        numbered.make_contiguous().sort_unstable();
        let source = self.source(from);
        source.queued |= new;
        // All of them were posted after what is queued.
        source.queue.append(&mut numbered);
        Ok(())
    }

    /// Reads a descriptor, and a message that stands in it.
    fn read(&mut self, region: &Region, from: u16, slot: u16) -> Result<Descriptor, Error> {
        region.read(self.layout.descriptor(from, slot), &mut self.descriptor)?;
        Ok(Descriptor::get(&self.layout, &self.descriptor).0)
    }

    /// Copies a message whose descriptor was the last that was read. False if it was taken back meanwhile: the bytes may be of another.
    fn copy(&self, region: &Region, message: &Message, room: &mut [u8]) -> Result<bool, Error> {
        let Message {
            from,
            slot,
            descriptor,
        } = *message;
        match room.len() <= self.layout.inline_max() {
            true => {
                let (_, bytes) = Descriptor::get(&self.layout, &self.descriptor);
                room.copy_from_slice(&bytes[..room.len()]);
            }
            false => region.read(self.layout.data(from) + u64::from(descriptor.start), room)?,
        }
        let word = region.load(self.layout.destination(from, slot, self.own))?;
        let (_, bit) = place(self.own);
        Ok(word & bit != 0)
    }

    /// The sender has to know soon only if it could lack room else.
    fn acknowledge(
        &mut self,
        region: &Region,
        from: u16,
        slot: u16,
        len_bytes: usize,
    ) -> Result<(), Error> {
        let (at, data_bytes) = (self.layout.ack(self.own, from), self.layout.data_bytes);
        let source = self.source(from);
        let acks = source.acks ^ 1 << slot;
        let untold = &mut source.untold;
        untold.messages += 1;
        untold.bytes += len_bytes as u64;
        if untold.messages >= UNTOLD_MAX || untold.bytes >= data_bytes / UNTOLD_PARTS {
            *untold = Untold::default();
            region.write_word(at, acks)?;
        } else {
            region.write_word_later(at, acks)?;
        }
        self.source(from).acks = acks;
        self.forget(from, slot);
        Ok(())
    }

    /// The first of a queue.
    fn forget(&mut self, from: u16, slot: u16) {
        let source = self.source(from);
        source.queued &= !(1 << slot);
        source.queue.pop_front();
    }

    /// The words that change when there is a message of a member, or of any.
    pub fn awaited(&self, from: Option<u16>) -> Vec<(u64, u64)> {
        let sources = (0..self.layout.members).zip(&self.sources);
        let wanted = sources.filter(|(member, _)| from.is_none_or(|from| from == *member));
        // All that is there has been looked for, and is read.
        wanted
            .map(|(member, source)| (self.layout.message(member, self.own), source.acks))
            .collect()
    }
}
