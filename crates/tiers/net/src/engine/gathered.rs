//! What packets carry that lies in several pieces: copied together when they leave.

use std::ops::Range;

use bcl_proto::{Payload, Transmit};
use bcl_types::OpId;

use crate::lent::Lent;

/// The payloads of one batch of packets, as far as they had to be gathered.
#[derive(Debug, Default)]
pub struct Gathered {
    bytes: Vec<u8>,
    parts: Vec<(OpId, u64, Range<usize>)>,
}

impl Gathered {
    /// Forgets the last batch, and gathers what these packets carry.
    #[inline]
    pub fn gather(&mut self, lent: &Lent, packets: &[Transmit]) {
        self.parts.clear();
        if lent.is_scattered() {
            self.bytes.clear();
            self.gather_now(lent, packets);
        }
    }

    fn gather_now(&mut self, lent: &Lent, packets: &[Transmit]) {
        for packet in packets {
            let Payload::Lent {
                op,
                offset,
                len_bytes,
            } = packet.payload
            else {
                continue;
            };
            if lent.part(op, offset, len_bytes.into()).is_some() {
                continue;
            }
            let start = self.bytes.len();
            self.bytes.resize(start + usize::from(len_bytes), 0);
            if lent.gather(op, offset, &mut self.bytes[start..]) {
                self.parts.push((op, offset, start..self.bytes.len()));
            } else {
                self.bytes.truncate(start);
            }
        }
    }

    /// What a packet carries that was gathered.
    pub fn get(&self, op: OpId, offset: u64) -> Option<&[u8]> {
        let is_it = |part: &&(OpId, u64, Range<usize>)| (part.0, part.1) == (op, offset);
        let (_, _, range) = self.parts.iter().find(is_it)?;
        self.bytes.get(range.clone())
    }
}
