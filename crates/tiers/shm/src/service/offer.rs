//! What two ports tell each other at the end of the handshake, under its protection ([SHM-7.1]).

use bcl_rings::pair::Geometry;
use bcl_tier::page::LAYOUT_VERSION;

use bcl_os::process::{self, Beacon};

const LEN: usize = 48;

/// What each side of a connection brings along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Version of the segment layout and of the messages in it.
    pub layout: u32,
    /// Sizes of the rings; the connecting side chooses.
    pub geometry: Geometry,
    /// The sender's beacon, if it has one.
    pub beacon: Option<Beacon>,
}

impl Offer {
    /// Ours.
    pub fn mine() -> Self {
        Self {
            layout: LAYOUT_VERSION,
            geometry: Geometry::DEFAULT,
            beacon: process::beacon(),
        }
    }

    pub fn encode(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        let g = self.geometry;
        for (chunk, word) in
            bytes
                .chunks_exact_mut(4)
                .zip([self.layout, g.cells, g.pool_bytes, g.stream_bytes])
        {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        if let Some(beacon) = self.beacon {
            bytes[16..24].copy_from_slice(&beacon.address.to_le_bytes());
            bytes[24..40].copy_from_slice(&beacon.bytes);
        }
        bytes
    }

    /// `None` if it is not an offer of this layout.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LEN] = bytes.try_into().ok()?;
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let geometry = Geometry {
            cells: word(4),
            pool_bytes: word(8),
            stream_bytes: word(12),
        };
        let beacon = Beacon {
            address: u64::from(word(16)) | u64::from(word(20)) << 32,
            bytes: bytes[24..40].try_into().ok()?,
        };
        let offer = Self {
            layout: word(0),
            geometry,
            beacon: (beacon.address != 0).then_some(beacon),
        };
        (offer.layout == LAYOUT_VERSION && geometry.is_sound()).then_some(offer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let offer = Offer::mine();
        assert_eq!(Offer::decode(&offer.encode()), Some(offer));
        let without = Offer {
            beacon: None,
            ..offer
        };
        assert_eq!(Offer::decode(&without.encode()), Some(without));
        assert_eq!(Offer::decode(&[0; LEN]), None);
        assert_eq!(Offer::decode(&[0; 3]), None);
    }
}
