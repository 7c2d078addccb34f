//! A peer that writes what it likes: the entry points of the fuzz targets, and a short run of each in the
//! tests. An entry point takes any bytes, and panics if the library does what [SHM-8] rules out.

mod connection;
#[cfg(test)]
mod random;
mod segment;

pub use connection::connection;
pub use segment::{page, pair};

use crate::engine::message::{INLINE_MAX, Message};
use crate::service::control::{DATA_MAX, Packet, Request};
use crate::service::offer::Offer;

/// Bytes that steer a run; zeros once they are used up.
#[derive(Debug)]
pub struct Input<'a>(pub &'a [u8]);

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let len = N.min(self.0.len());
        bytes[..len].copy_from_slice(&self.0[..len]);
        self.0 = &self.0[len..];
        bytes
    }

    fn byte(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    fn short(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    /// A value as peers use it, most of the time small.
    fn word(&mut self) -> u64 {
        match self.byte() {
            kind @ 0..=239 => u64::from(kind % 24),
            240..=247 => u64::from(self.short()),
            _ => u64::from_le_bytes(self.take()),
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A cell.
pub fn cell(bytes: &[u8]) {
    let mut input = Input(bytes);
    let words = std::array::from_fn(|_| u64::from_le_bytes(input.take()));
    if let Ok(message) = Message::decode(&words) {
        if message.inline {
            assert!(message.inline_bytes().len() <= INLINE_MAX);
        }
        let mut written = words;
        written[0] &= !0xffff_ffff;
        assert_eq!(message.encode(), written, "a cell means something else");
    }
}

/// A packet on the socket of a connection.
pub fn packet(bytes: &[u8]) {
    let Some((packet, data)) = Packet::decode(bytes) else {
        return;
    };
    assert!(bytes.ends_with(data));
    if let Packet::Rma {
        request: Request::Get(len_bytes),
        ..
    } = packet
    {
        assert!(len_bytes as usize <= DATA_MAX);
    }
    let again = Packet::decode(&packet.encode()).map(|(packet, _)| packet);
    assert_eq!(again, Some(packet), "a packet means something else");
}

/// An offer.
pub fn offer(bytes: &[u8]) {
    if let Some(offer) = Offer::decode(bytes) {
        assert!(offer.geometry.is_sound());
        assert!(offer.geometry.segment_len() <= 128 << 20);
        assert_eq!(Offer::decode(&offer.encode()), Some(offer));
    }
}
