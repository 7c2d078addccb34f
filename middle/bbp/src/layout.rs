//! What lies where in the region ([BBP-2]).

use crate::members::Members;

/// Messages that a member has on the board at a time: as many as a word has bits.
pub const SLOTS: u16 = 64;

/// Parts begin at cache lines, so that who writes one disturbs nobody who reads another.
const LINE_BYTES: u64 = 64;
const WORD_BYTES: u64 = 8;
/// A descriptor has a number, and a place and length, before the members that the message is for.
const FIXED_WORDS: usize = 2;

/// Where members' partitions and their parts begin. All offsets are of the region, and in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub members: u16,
    /// Of each member, for messages.
    pub data_bytes: u64,
    partition_bytes: u64,
    acks_at: u64,
    descriptors_at: u64,
    data_at: u64,
}

impl Layout {
    pub fn new(members: u16, data_bytes: u64) -> Self {
        let flags_bytes = (u64::from(members) * WORD_BYTES).next_multiple_of(LINE_BYTES);
        let mut layout = Self {
            members,
            data_bytes,
            partition_bytes: 0,
            acks_at: flags_bytes,
            descriptors_at: 2 * flags_bytes,
            data_at: 0,
        };
        let descriptors_bytes = u64::from(SLOTS) * layout.descriptor_bytes() as u64;
        layout.data_at = layout.descriptors_at + descriptors_bytes;
        layout.partition_bytes = layout.data_at + data_bytes;
        layout
    }

    /// Length of all.
    pub fn region_bytes(&self) -> u64 {
        u64::from(self.members) * self.partition_bytes
    }

    fn partition(&self, member: u16) -> u64 {
        u64::from(member) * self.partition_bytes
    }

    /// The word whose bits a member toggles, by slot, when it posts a message for another.
    pub fn message(&self, from: u16, to: u16) -> u64 {
        self.partition(from) + u64::from(to) * WORD_BYTES
    }

    /// The word whose bits a member toggles when it has read another's messages.
    pub fn ack(&self, by: u16, of: u16) -> u64 {
        self.partition(by) + self.acks_at + u64::from(of) * WORD_BYTES
    }

    /// What says where the message of a slot is, and how long.
    pub fn descriptor(&self, of: u16, slot: u16) -> u64 {
        let slot = u64::from(slot) * self.descriptor_bytes() as u64;
        self.partition(of) + self.descriptors_at + slot
    }

    /// The word of a descriptor that says whether the message is for a member.
    pub fn destination(&self, of: u16, slot: u16, member: u16) -> u64 {
        let word = FIXED_WORDS + usize::from(member / 64);
        self.descriptor(of, slot) + word as u64 * WORD_BYTES
    }

    /// Where a member's messages are.
    pub fn data(&self, of: u16) -> u64 {
        self.partition(of) + self.data_at
    }

    /// Of each descriptor: a cache line, or two if there are many members.
    pub fn descriptor_bytes(&self) -> usize {
        if self.members <= 64 { 64 } else { 128 }
    }

    fn destination_words(&self) -> usize {
        usize::from(self.members).div_ceil(64)
    }

    /// What precedes a message that stands in the descriptor itself.
    fn header_bytes(&self) -> usize {
        (FIXED_WORDS + self.destination_words()) * WORD_BYTES as usize
    }

    /// Longest message that stands there.
    pub fn inline_max(&self) -> usize {
        self.descriptor_bytes() - self.header_bytes()
    }
}

/// What a descriptor says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Counts the messages of a member, from 1.
    pub number: u64,
    /// Where in its data the message is, if it is too long for the descriptor.
    pub start: u32,
    pub len_bytes: u32,
    pub to: Members,
}

impl Descriptor {
    /// Appends it, as it is written down.
    pub fn put(&self, layout: &Layout, bytes: &mut Vec<u8>) {
        let place = u64::from(self.start) << 32 | u64::from(self.len_bytes);
        let to = self.to.words(layout.destination_words());
        for word in [self.number, place].iter().chain(to) {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
    }

    /// Reads one, with a message that stands in it behind it.
    pub fn get<'b>(layout: &Layout, bytes: &'b [u8]) -> (Self, &'b [u8]) {
        let (header, rest) = bytes.split_at(layout.header_bytes());
        let mut words = [0; FIXED_WORDS + 4];
        for (word, bytes) in words.iter_mut().zip(header.chunks_exact(8)) {
            let mut of_word = [0; 8];
            of_word.copy_from_slice(bytes);
            *word = u64::from_ne_bytes(of_word);
        }
        let [number, place, to @ ..] = words;
        let descriptor = Self {
            number,
            start: (place >> 32) as u32,
            len_bytes: place as u32,
            to: Members::of_words(&to[..layout.destination_words()]),
        };
        (descriptor, rest)
    }

    /// Whether such a message can be there: what others have written may be anything.
    pub fn is_sound(&self, layout: &Layout) -> bool {
        let len_bytes = u64::from(self.len_bytes);
        let is_inline = self.len_bytes as usize <= layout.inline_max();
        is_inline || u64::from(self.start) + len_bytes <= layout.data_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_overlap_nowhere() {
        for members in [1, 2, 8, 9, 64, 65, 256] {
            let layout = Layout::new(members, 4096);
            let last = members - 1;
            assert!(layout.message(0, last) + 8 <= layout.ack(0, 0));
            assert!(layout.ack(0, last) + 8 <= layout.descriptor(0, 0));
            let end = layout.descriptor(0, SLOTS - 1) + layout.descriptor_bytes() as u64;
            assert_eq!(end, layout.data(0));
            assert_eq!(layout.data(last) + 4096, layout.region_bytes());
            for at in [
                layout.ack(last, 0),
                layout.descriptor(last, 0),
                layout.data(last),
            ] {
                assert!(at.is_multiple_of(64));
            }
            assert!(layout.destination(0, 0, last) + 8 <= layout.descriptor(0, 1));
        }
        assert_eq!(Layout::new(64, 0).inline_max(), 40);
        assert_eq!(Layout::new(256, 0).inline_max(), 80);
    }

    #[test]
    fn descriptors_are_read_as_they_were_written() {
        for members in [3, 65, 256] {
            let layout = Layout::new(members, 4096);
            let written = Descriptor {
                number: 1 << 40,
                start: u32::MAX,
                len_bytes: 7,
                to: [0, members - 1].into_iter().collect(),
            };
            let mut bytes = Vec::new();
            written.put(&layout, &mut bytes);
            bytes.extend_from_slice(b"message");
            bytes.resize(layout.descriptor_bytes(), 0);
            let (read, rest) = Descriptor::get(&layout, &bytes);
            assert_eq!((read, &rest[..7]), (written, &b"message"[..]));
            assert!(read.is_sound(&layout));
            let len_bytes = 4096;
            assert!(!Descriptor { len_bytes, ..read }.is_sound(&layout));
        }
    }
}
