//! Cells of the shm tier: how messages are written in them ([SHM-4]).

use bcl_rings::Corrupt;
use bcl_rings::cells::Words;

/// Payload bytes that fit in the cell itself.
pub const INLINE_MAX: usize = 48;
/// Flag: the payload is in the cell.
const INLINE: u8 = 1;
/// Flag: the last word is the sender's immediate data.
const IMMEDIATE: u8 = 2;

/// Payload bytes that fit in the cell beside these immediate data.
#[inline]
pub fn inline_max(immediate: u64) -> usize {
    match immediate {
        0 => INLINE_MAX,
        _ => INLINE_MAX - size_of::<u64>(),
    }
}

/// What a cell says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message on the system channel; payload inline, else in the pool.
    System = 1,
    /// A message on a normal channel with its payload, inline or in the stream ring.
    Eager = 2,
    /// A message on a normal channel whose payload waits at the sender.
    Rts = 3,
    /// The receiver has a buffer: send the payload through the stream ring.
    Cts = 4,
    /// A piece of such a payload.
    Data = 5,
    /// A message is finished, well or not.
    Fin = 6,
    /// A message has been taken note of, but waits for a buffer.
    Defer = 7,
    /// One-sided data has been written into a window that asks for notices.
    Notice = 8,
    /// The payload that was to be streamed cannot be read.
    Unreadable = 9,
}

impl Kind {
    /// Whether it is the first cell of a message.
    fn is_message(self) -> bool {
        matches!(self, Self::System | Self::Eager | Self::Rts)
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::System,
            2 => Self::Eager,
            3 => Self::Rts,
            4 => Self::Cts,
            5 => Self::Data,
            6 => Self::Fin,
            7 => Self::Defer,
            8 => Self::Notice,
            9 => Self::Unreadable,
            _ => return None,
        })
    }
}

/// A decoded cell. The meaning of `args` depends on the kind; for inline payload they are the payload.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// What it says.
    pub kind: Kind,
    /// Channel, or window number.
    pub channel: u16,
    /// Whether the payload is in `args`.
    pub inline: bool,
    /// Payload length.
    pub len_bytes: u32,
    /// The sender's view of how many of our messages it has handled, low 32 bits.
    pub handled: u32,
    /// 64 bits that the sender gives along with a message; in the cell only if they are not 0.
    pub immediate: u64,
    /// The other words.
    pub args: [u64; 6],
}

impl Message {
    /// A cell without payload.
    pub fn control(kind: Kind, channel: u16, args: [u64; 6]) -> Self {
        Self {
            kind,
            channel,
            inline: false,
            len_bytes: 0,
            handled: 0,
            immediate: 0,
            args,
        }
    }

    /// A cell whose payload, of `len_bytes`, lies in a ring.
    pub fn with_payload(kind: Kind, channel: u16, len_bytes: u32) -> Self {
        Self {
            kind,
            channel,
            inline: false,
            len_bytes,
            handled: 0,
            immediate: 0,
            args: [0; 6],
        }
    }

    /// A cell that holds its payload, at most [`inline_max`] bytes.
    #[inline]
    pub fn with_inline(kind: Kind, channel: u16, data: &[u8]) -> Self {
        let mut message = Self::inline(kind, channel, data.len() as u32);
        copy_words(data, &mut message.args);
        message
    }

    /// The same, whose payload is yet to be written into its words.
    #[inline]
    pub fn inline(kind: Kind, channel: u16, len_bytes: u32) -> Self {
        Self {
            kind,
            channel,
            inline: true,
            len_bytes,
            handled: 0,
            immediate: 0,
            args: [0; 6],
        }
    }

    /// Word form, without the sequence number.
    #[inline]
    pub fn encode(&self) -> Words {
        let (flag, last) = match self.immediate {
            0 => (0, self.args[5]),
            immediate => (IMMEDIATE, immediate),
        };
        let flags = flag | if self.inline { INLINE } else { 0 };
        let first =
            (self.kind as u64) << 32 | u64::from(flags) << 40 | u64::from(self.channel) << 48;
        let second = u64::from(self.handled) | u64::from(self.len_bytes) << 32;
        let a = &self.args;
        [first, second, a[0], a[1], a[2], a[3], a[4], last]
    }

    /// Reads the words of a cell that a peer wrote.
    #[inline]
    pub fn decode(words: &Words) -> Result<Self, Corrupt> {
        let kind = Kind::from_byte((words[0] >> 32) as u8).ok_or(Corrupt("kind of a cell"))?;
        let flags = (words[0] >> 40) as u8;
        let inline = flags & INLINE != 0;
        let immediate = match flags & !INLINE {
            0 => 0,
            IMMEDIATE if kind.is_message() && words[7] != 0 => words[7],
            _ => return Err(Corrupt("flags of a cell")),
        };
        let len_bytes = (words[1] >> 32) as u32;
        if inline && len_bytes as usize > inline_max(immediate) {
            return Err(Corrupt("length of an inline payload"));
        }
        Ok(Self {
            kind,
            channel: (words[0] >> 48) as u16,
            inline,
            len_bytes,
            handled: words[1] as u32,
            immediate,
            args: [words[2], words[3], words[4], words[5], words[6], words[7]],
        })
    }

    /// The inline payload.
    #[inline]
    pub fn inline_bytes(&self) -> &[u8] {
        debug_assert!(self.inline);
        // SAFETY: six words are 48 bytes without padding, and `decode` and `with_inline` bound the length.
        unsafe {
            std::slice::from_raw_parts(self.args.as_ptr().cast::<u8>(), self.len_bytes as usize)
        }
    }
}

#[inline]
fn copy_words(data: &[u8], words: &mut [u64; 6]) {
    assert!(data.len() <= INLINE_MAX);
    // SAFETY: the destination is 48 bytes long and the source is not longer.
    unsafe {
        std::ptr::copy_nonoverlapping(data.as_ptr(), words.as_mut_ptr().cast::<u8>(), data.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let message = Message {
            handled: 7,
            ..Message::with_inline(Kind::System, 513, b"hello")
        };
        let back = Message::decode(&message.encode()).unwrap();
        assert_eq!(
            (back.kind, back.channel, back.handled),
            (Kind::System, 513, 7)
        );
        assert_eq!(back.inline_bytes(), b"hello");
        assert_eq!(message.encode()[0] & 0xffff_ffff, 0);
        assert_eq!(back.immediate, 0);
    }

    #[test]
    fn immediate_data_travel_beside_any_payload() {
        let forty = [7; 40];
        for message in [
            Message::with_inline(Kind::System, 0, &forty),
            Message::with_payload(Kind::Eager, 9, 8192),
            Message::control(Kind::Rts, 9, [1, 2, 3, 4, 0, 0]),
        ] {
            let told = Message {
                immediate: u64::MAX,
                ..message
            };
            let back = Message::decode(&told.encode()).unwrap();
            assert_eq!(back.immediate, u64::MAX);
            assert_eq!(back.args[..5], message.args[..5]);
            assert_eq!(
                back.inline.then(|| back.inline_bytes().to_vec()),
                message.inline.then(|| forty.to_vec())
            );
        }
    }

    #[test]
    fn impossible_cells_are_refused() {
        assert!(Message::decode(&[0; 8]).is_err());
        assert!(Message::decode(&[200 << 32, 0, 0, 0, 0, 0, 0, 0]).is_err());
        let too_long = [1 << 32 | 1 << 40, 49 << 32, 0, 0, 0, 0, 0, 0];
        assert!(Message::decode(&too_long).is_err());
        let too_long_beside = [1 << 32 | 3 << 40, 41 << 32, 0, 0, 0, 0, 0, 1];
        assert!(Message::decode(&too_long_beside).is_err());
        let of_no_message = [6 << 32 | 2 << 40, 0, 0, 0, 0, 0, 0, 1];
        assert!(Message::decode(&of_no_message).is_err());
    }
}
