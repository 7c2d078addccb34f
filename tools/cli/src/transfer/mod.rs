//! `bcl send` and `bcl recv`: files and pipes from process to process.
//!
//! The stream travels as messages of at most [`CHUNK`] bytes on one normal channel, several of them under way at
//! a time, so that memory stays bounded whatever its length. Its end is a last message of 16 bytes on another
//! channel with the length and a checksum of all: what breaks off is never taken for what is whole.

mod checksum;
mod progress;
pub mod recv;
pub mod send;

/// Bytes of a message.
const CHUNK: usize = 1 << 20;
/// Messages under way.
const IN_FLIGHT: usize = 4;
/// The channel of the bytes.
const DATA: u16 = 1;
/// The channel of the trailer.
const TRAILER: u16 = 2;
/// The receiver's word on the system channel that everything has arrived and was written.
const RECEIVED: &[u8] = b"received";

/// What ends a stream: its length and checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trailer {
    len_bytes: u64,
    checksum: u64,
}

impl Trailer {
    const LEN: usize = 16;

    fn to_bytes(self) -> Vec<u8> {
        [self.len_bytes.to_le_bytes(), self.checksum.to_le_bytes()].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (len, checksum) = bytes.split_first_chunk::<8>()?;
        Some(Self {
            len_bytes: u64::from_le_bytes(*len),
            checksum: u64::from_le_bytes(*checksum.first_chunk::<8>()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailer_survives_the_way() {
        let trailer = Trailer {
            len_bytes: 1 << 40,
            checksum: 0xfeed,
        };
        let bytes = trailer.to_bytes();
        assert_eq!(bytes.len(), Trailer::LEN);
        assert_eq!(Trailer::from_bytes(&bytes), Some(trailer));
        assert_eq!(Trailer::from_bytes(&bytes[..15]), None);
    }
}
