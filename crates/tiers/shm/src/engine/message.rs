//! Cells of the shm tier: how messages are written in them ([SHM-4]).

use bcl_rings::Corrupt;
use bcl_rings::cells::Words;

/// Payload bytes that fit in the cell itself.
pub const INLINE_MAX: usize = 48;

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
            args: [0; 6],
        }
    }

    /// A cell that holds its payload, at most [`INLINE_MAX`] bytes.
    #[inline]
    pub fn with_inline(kind: Kind, channel: u16, data: &[u8]) -> Self {
        let mut args = [0u64; 6];
        copy_words(data, &mut args);
        Self {
            kind,
            channel,
            inline: true,
            len_bytes: data.len() as u32,
            handled: 0,
            args,
        }
    }

    /// Word form, without the sequence number.
    #[inline]
    pub fn encode(&self) -> Words {
        let first =
            (self.kind as u64) << 32 | u64::from(self.inline) << 40 | u64::from(self.channel) << 48;
        let second = u64::from(self.handled) | u64::from(self.len_bytes) << 32;
        let a = &self.args;
        [first, second, a[0], a[1], a[2], a[3], a[4], a[5]]
    }

    /// Reads the words of a cell that a peer wrote.
    #[inline]
    pub fn decode(words: &Words) -> Result<Self, Corrupt> {
        let kind = Kind::from_byte((words[0] >> 32) as u8).ok_or(Corrupt("kind of a cell"))?;
        let inline = match (words[0] >> 40) as u8 {
            0 => false,
            1 => true,
            _ => return Err(Corrupt("flags of a cell")),
        };
        let len_bytes = (words[1] >> 32) as u32;
        if inline && len_bytes as usize > INLINE_MAX {
            return Err(Corrupt("length of an inline payload"));
        }
        Ok(Self {
            kind,
            channel: (words[0] >> 48) as u16,
            inline,
            len_bytes,
            handled: words[1] as u32,
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
    }

    #[test]
    fn impossible_cells_are_refused() {
        assert!(Message::decode(&[0; 8]).is_err());
        assert!(Message::decode(&[200 << 32, 0, 0, 0, 0, 0, 0, 0]).is_err());
        let too_long = [1 << 32 | 1 << 40, 49 << 32, 0, 0, 0, 0, 0, 0];
        assert!(Message::decode(&too_long).is_err());
    }
}
