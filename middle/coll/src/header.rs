//! How messages find the call that they are for ([COLL-2.1]): 8 bytes before what they carry.

use std::fmt;

/// Of each message.
pub const HEADER_BYTES: usize = 8;
/// Bits of the number of a call; it begins anew behind that, when nobody is in an earlier one any more.
const CALL_BITS: u32 = 24;

/// What a group does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Barrier = 1,
    Broadcast,
    Gather,
    Reduce,
    /// No call: a group can do nothing more ([COLL-2.5]).
    Broken,
}

/// Names a message among all between two members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Of the group.
    pub context: u32,
    /// Which of its calls, counted.
    pub call: u32,
    /// Which of the steps of one.
    pub step: u8,
    pub kind: u8,
}

impl Header {
    /// What two messages have in common that are for the same step of the same call.
    pub fn key(self) -> u64 {
        self.word() & !0xff
    }

    /// What tells the others of a group that it can do nothing more.
    pub fn end_of(context: u32) -> Self {
        Self {
            context,
            call: 0,
            step: 0,
            kind: Kind::Broken as u8,
        }
    }

    pub fn is_the_end(self) -> bool {
        self.kind == Kind::Broken as u8
    }

    fn word(self) -> u64 {
        let call = u64::from(self.call) & ((1 << CALL_BITS) - 1);
        u64::from(self.context) << 40
            | call << 16
            | u64::from(self.step) << 8
            | u64::from(self.kind)
    }

    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        self.word().to_le_bytes()
    }

    /// The header of a message, and what it carries; `None` if it is too short to have one.
    pub fn split(message: &[u8]) -> Option<(Self, &[u8])> {
        let (bytes, payload) = message.split_first_chunk()?;
        let word = u64::from_le_bytes(*bytes);
        let header = Self {
            context: (word >> 40) as u32,
            call: (word >> 16) as u32 & ((1 << CALL_BITS) - 1),
            step: (word >> 8) as u8,
            kind: word as u8,
        };
        Some((header, payload))
    }

    /// What it is part of, for people.
    pub fn describe(self, len_bytes: usize) -> String {
        format!("{} of {len_bytes} bytes", Named(self.kind))
    }
}

struct Named(u8);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            "a barrier",
            "a broadcast",
            "an allgather",
            "a reduction",
            "the end of the group",
        ];
        let name = usize::from(self.0).checked_sub(1);
        let name = name.and_then(|index| names.get(index));
        f.write_str(name.unwrap_or(&"something unknown"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = Header {
            context: 0xab_cdef,
            call: 0x12_3456,
            step: 7,
            kind: Kind::Reduce as u8,
        };
        let message = [&header.to_bytes()[..], b"rest"].concat();
        assert_eq!(Header::split(&message), Some((header, &b"rest"[..])));
        assert_eq!(Header::split(&message[..7]), None);
        let kind = Kind::Barrier as u8;
        assert_eq!(header.key(), Header { kind, ..header }.key());
        let later = Header {
            call: header.call + (1 << CALL_BITS),
            ..header
        };
        assert_eq!(later.to_bytes(), header.to_bytes());
        assert_eq!(header.describe(3), "a reduction of 3 bytes");
    }
}
