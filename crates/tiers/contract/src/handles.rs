//! Names and places that a port and its tiers hand to each other.

use bcl_types::{Address, Device, OpId};

use crate::pieces::Pieces;
use crate::region::RegionPlace;

/// A message on a normal channel that has arrived, as its sender describes it. Each tells of it before any of it is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Which.
    pub message: MessageId,
    /// From whom.
    pub from: Address,
    /// On which channel.
    pub channel: u16,
    /// How long it is.
    pub len_bytes: u64,
    /// 64 bits of the sender's own; 0 if it has given none.
    pub immediate: u64,
}

/// A message for a normal channel.
#[derive(Debug, Clone, Copy)]
pub struct NormalSend {
    /// The sending operation.
    pub op: OpId,
    /// Channel, not 0.
    pub channel: u16,
    /// 64 bits of the sender's own, told to the receiver before it gives a buffer.
    pub immediate: u64,
    /// What is sent.
    pub source: Source,
}

/// A message on a normal channel that waits for a buffer. All but the device is the tier's own business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageId {
    /// Whose it is: [`Device::Udp`] stands for all of the network tier.
    pub device: Device,
    /// Place in a table of the tier.
    pub slot: u32,
    /// Its connection, or 0.
    pub link: u64,
    /// Tells it from others that were there before.
    pub number: u32,
}

/// A system message that lies where it arrived until it is released. All but the device, the place and the length is the
/// tier's own business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemHandle {
    /// Whose it is: [`Device::Udp`] stands for all of the network tier.
    pub device: Device,
    /// Place in a table of the tier.
    pub slot: u32,
    /// Its connection, or 0.
    pub link: u64,
    /// Tells it from others that were there before.
    pub number: u64,
    /// First byte.
    pub start: *const u8,
    /// Length in bytes.
    pub len_bytes: u32,
    /// 64 bits of the sender's own; 0 if it has given none.
    pub immediate: u64,
}

// SAFETY: a handle is a name and an address; what it points to belongs to the port.
unsafe impl Send for SystemHandle {}

impl SystemHandle {
    /// The name alone, as three words of which the first is not 0, for bindings to other languages.
    pub fn to_words(&self) -> [u64; 3] {
        let place = u64::from(self.device.number()) << 32 | u64::from(self.slot);
        [place, self.link, self.number]
    }

    /// A handle that can be released, but not read, from words that may have come from anywhere.
    pub fn from_words([place, link, number]: [u64; 3]) -> Option<Self> {
        let device = Device::from_number(place >> 32)?;
        Some(Self {
            device,
            slot: place as u32,
            link,
            number,
            start: std::ptr::null(),
            len_bytes: 0,
            immediate: 0,
        })
    }
}

/// A posted buffer.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Where the message goes; as long as it may be.
    pub memory: Pieces,
    /// The posting operation.
    pub op: OpId,
}

// SAFETY: an address that is only carried; the poster vouches for the memory, whichever thread fills it.
unsafe impl Send for Target {}

/// Memory that a message is sent from; stays put until the operation completes.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Where the message lies.
    pub memory: Pieces,
    /// Where that is in a DMA buffer, if it is in one, and in one piece.
    pub region: Option<RegionPlace>,
}

// SAFETY: an address that is only carried; the sender vouches for the memory, whichever thread reads it.
unsafe impl Send for Source {}

/// How a connection moves data, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkInfo {
    /// What moves the data.
    pub device: Device,
    /// How long messages are copied, and why so.
    pub copy: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_the_message_that_they_were_made_of() {
        for (device, slot) in [(Device::Shm, 0), (Device::Shm, u32::MAX), (Device::Udp, 7)] {
            let handle = SystemHandle {
                device,
                slot,
                link: 3,
                number: 1 << 40,
                start: std::ptr::null(),
                len_bytes: 0,
                immediate: 0,
            };
            assert_eq!(SystemHandle::from_words(handle.to_words()), Some(handle));
        }
        assert_eq!(SystemHandle::from_words([0; 3]), None);
        assert_eq!(SystemHandle::from_words([4 << 32, 0, 0]), None);
    }
}
