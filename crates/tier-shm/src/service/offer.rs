//! What two ports tell each other at the end of the handshake, under its protection ([SHM-7.1]).

use bcl_shm::pair::{Geometry, LAYOUT_VERSION};

use crate::cma::Beacon;

const LEN: usize = 48;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Version of the segment layout and of the messages in it.
    pub layout: u32,
    /// Sizes of the rings; the connecting side chooses.
    pub geometry: Geometry,
    /// Where the sender's beacon lies in its memory.
    pub beacon_address: u64,
    /// What the beacon says.
    pub beacon: [u8; 16],
}

impl Offer {
    /// Ours.
    pub fn mine() -> Self {
        let beacon = Beacon::mine();
        Self {
            layout: LAYOUT_VERSION,
            geometry: Geometry::DEFAULT,
            beacon_address: beacon.address(),
            beacon: beacon.bytes(),
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
        bytes[16..24].copy_from_slice(&self.beacon_address.to_le_bytes());
        bytes[24..40].copy_from_slice(&self.beacon);
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
        let offer = Self {
            layout: word(0),
            geometry,
            beacon_address: u64::from(word(16)) | u64::from(word(20)) << 32,
            beacon: bytes[24..40].try_into().ok()?,
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
        assert_eq!(Offer::decode(&[0; LEN]), None);
        assert_eq!(Offer::decode(&[0; 3]), None);
    }
}
