//! Packets that were cut for a wider path than there is now: they travel in pieces ([WIRE-14.5]).
//!
//! A packet that has its sequence keeps its content, so it cannot be cut anew. Its datagram, sealed as ever, goes in
//! PIECEs, and the receiver puts it together and takes it as if it had come whole. One packet of a connection at a
//! time: this is for what was under way when the path became narrow, and for no more.

use bcl_wire::{HEADER_LEN, Header, Kind, PAYLOAD_MAX, PIECE_UNIT};

use super::packet::{Content, Packet};
use crate::buffers::Buffers;
use crate::slab::Name;

/// Words that hold a bit for each unit of the longest datagram.
const WORDS: usize = (HEADER_LEN + PAYLOAD_MAX).div_ceil(64 * PIECE_UNIT);

/// A datagram that leaves in pieces.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    pub sequence: u32,
    /// Where it lies, and how long it is.
    pub name: Name,
    pub len: u16,
    /// What has left.
    pub at: u16,
}

impl Cut {
    /// The next piece, with a payload of at most `limit` bytes; no more follow after the last.
    pub fn next_piece(&mut self, limit: u16) -> Option<Packet> {
        let unit = PIECE_UNIT as u16;
        let len = (limit / unit * unit).min(self.len - self.at);
        let piece = Packet {
            message: self.sequence,
            offset: self.at.into(),
            length: self.len.into(),
            payload: Content::Buffer {
                name: self.name,
                at: self.at.into(),
                len,
            },
            ..Packet::new(Kind::Piece)
        };
        self.at += len;
        (len > 0).then_some(piece)
    }
}

/// A datagram of which some pieces have come.
#[derive(Debug)]
pub struct Assembly {
    pub sequence: u32,
    name: Name,
    len: u16,
    /// Which units are here.
    here: [u64; WORDS],
}

impl Assembly {
    /// Room for the datagram that this is a piece of.
    pub fn new(buffers: &mut Buffers, owner: u32, piece: &Header) -> Option<Self> {
        let len = u16::try_from(piece.length).ok()?;
        Some(Self {
            sequence: piece.message,
            name: buffers.take(usize::from(len), owner)?,
            len,
            here: [0; WORDS],
        })
    }

    /// Whether this is a piece of it.
    pub fn is_of(&self, piece: &Header) -> bool {
        (self.sequence, u64::from(self.len)) == (piece.message, piece.length)
    }

    /// Puts a piece in its place; true if nothing is missing any more.
    pub fn add(&mut self, buffers: &mut Buffers, piece: &Header, payload: &[u8]) -> bool {
        let at = piece.offset as usize;
        let place = buffers
            .get_mut(self.name)
            .and_then(|bytes| bytes.get_mut(at..at + payload.len()));
        let Some(place) = place else {
            return false;
        };
        place.copy_from_slice(payload);
        let first = at / PIECE_UNIT;
        for unit in first..(at + payload.len()).div_ceil(PIECE_UNIT) {
            self.here[unit / 64] |= 1 << (unit % 64);
        }
        let units = usize::from(self.len).div_ceil(PIECE_UNIT);
        let count: u32 = self.here.iter().map(|word| word.count_ones()).sum();
        count as usize == units
    }

    /// Takes the datagram out: its memory, and how much of that it is.
    pub fn take(self, buffers: &mut Buffers) -> Option<(Box<[u8]>, usize)> {
        let (bytes, _) = buffers.detach(self.name)?;
        Some((bytes, self.len.into()))
    }

    /// It is not needed.
    pub fn clear(self, buffers: &mut Buffers) {
        buffers.give_back(self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the sizes, the order and what comes twice.
        #[test]
        fn what_was_cut_is_put_together(
            len in 64..=8960_u16,
            limits in prop::collection::vec(64..2000_u16, 1..20),
            order in any::<u64>(),
        ) {
            let datagram: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            let mut buffers = Buffers::new(1 << 20, 1 << 20);
            let name = buffers.take(usize::from(len), 1).unwrap();
            let mut pieces = Vec::new();
            let mut cut = Cut { sequence: 7, name, len, at: 0 };
            for limit in limits.iter().cycle() {
                let Some(piece) = cut.next_piece(*limit) else { break };
                pieces.push(piece.header());
            }
            let count = pieces.len();
            pieces.rotate_left(order as usize % count);
            pieces.insert(order as usize % count, pieces[0]);
            let mut assembly = Assembly::new(&mut buffers, 1, &pieces[0]).unwrap();
            let mut seen = std::collections::BTreeSet::new();
            for piece in &pieces {
                prop_assert!(assembly.is_of(piece));
                let at = piece.offset as usize;
                seen.insert(at);
                let payload = &datagram[at..at + usize::from(piece.payload_len_bytes)];
                prop_assert_eq!(assembly.add(&mut buffers, piece, payload), seen.len() == count);
            }
            let (bytes, found) = assembly.take(&mut buffers).unwrap();
            prop_assert_eq!(&bytes[..found], &datagram[..]);
        }
    }
}
