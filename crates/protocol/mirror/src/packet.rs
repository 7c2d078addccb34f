//! Packets of a region: a header of 64 bytes, and what goes with its kind ([REFLECT-8]).

use bcl_wire::bytes::{get_u16, get_u64, put_u16, put_u64};
use bcl_wire::{HEADER_LEN, JobKeys, PAYLOAD_MAX, seal, verify};

use crate::names::HostId;

const MAGIC: u16 = u16::from_le_bytes(*b"BR");
const VERSION: u8 = 1;

/// Declares the kinds once, with their numbers.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What a packet says.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Kind {
            $($(#[$doc])* $name = $number,)*
        }

        impl Kind {
            #[cfg(test)]
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            fn of(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// Who are you? I have this region.
    Hello = 1,
    /// A host that has it too; prove that you have asked just now.
    Welcome = 2,
    /// I have.
    Confirm = 3,
    /// That is another region than mine.
    Refuse = 4,
    /// I am there, and these members are here.
    Beat = 5,
    /// So far I have come in these logs.
    Have = 6,
    /// Where can I go on in these logs?
    Follow = 7,
    /// There.
    Start = 8,
    /// Bytes of a log.
    Data = 9,
    /// So far have these hosts come in these logs.
    Status = 10,
    /// These bytes of a log are missing.
    Nak = 11,
    /// May a process here be this member?
    Claim = 12,
    /// It may.
    Grant = 13,
    /// Another is.
    Deny = 14,
    /// What is in this part of the region?
    Pull = 15,
    /// This.
    Chunk = 16,
    /// I leave.
    Bye = 17,
    /// Who hears this, sent to all at once?
    Probe = 18,
    /// I do.
    Heard = 19,
}

/// Bits of a header.
pub(crate) mod flags {
    /// Answer at once how far you have come.
    pub const ACK_NOW: u16 = 1 << 0;
    /// From who is not the log's own host: not to be passed on.
    pub const REPAIR: u16 = 1 << 1;
    /// The log goes on elsewhere than where you are.
    pub const SKIP: u16 = 1 << 2;
    /// Nothing but zeros.
    pub const ZEROS: u16 = 1 << 3;
    /// Whether the others have what the asker has does not matter any more.
    pub const ANYHOW: u16 = 1 << 4;
    /// Sent to all: not to be passed on.
    pub const GROUP: u16 = 1 << 5;
    pub const ALL: u16 = (1 << 6) - 1;
}

/// A header as plain values; what `position` and `extra` are depends on the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub kind: Kind,
    pub flags: u16,
    /// Who sends it, or whose log it is from.
    pub host: HostId,
    /// Whom it is for; nobody in particular if `None`.
    pub to: Option<HostId>,
    pub member: u16,
    pub epoch: u64,
    pub position: u64,
    pub extra: u64,
}

impl Header {
    pub fn new(kind: Kind, host: HostId) -> Self {
        Self {
            kind,
            flags: 0,
            host,
            to: None,
            member: 0,
            epoch: 0,
            position: 0,
            extra: 0,
        }
    }

    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    fn to_bytes(self, payload_len_bytes: u16) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        put_u16(&mut bytes, 0, MAGIC);
        bytes[2] = VERSION;
        bytes[3] = self.kind as u8;
        put_u16(&mut bytes, 4, self.flags);
        put_u16(&mut bytes, 6, payload_len_bytes);
        put_u64(&mut bytes, 8, self.host.0);
        put_u64(&mut bytes, 16, self.to.map_or(0, |to| to.0));
        put_u64(&mut bytes, 24, self.epoch);
        put_u64(&mut bytes, 32, self.position);
        put_u64(&mut bytes, 40, self.extra);
        put_u16(&mut bytes, 48, self.member);
        bytes
    }
}

/// Why bytes from the network are not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// No packet of a region.
    Foreign,
    /// Its check is wrong: of another key, or damaged.
    Forged,
}

/// The header and the payload of a packet whose check is right.
pub(crate) fn open<'p>(datagram: &'p [u8], keys: &JobKeys) -> Result<(Header, &'p [u8]), Unfit> {
    let (bytes, payload) = datagram
        .split_first_chunk::<HEADER_LEN>()
        .ok_or(Unfit::Foreign)?;
    let fits = usize::from(get_u16(bytes, 6)) == payload.len() && payload.len() <= PAYLOAD_MAX;
    let kind = kind_of(bytes).filter(|_| fits);
    let kind = kind.ok_or(Unfit::Foreign)?;
    if !verify(datagram, keys, keys.setup()) {
        return Err(Unfit::Forged);
    }
    let flags = get_u16(bytes, 4);
    let is_reserved_zero = bytes[50..56].iter().all(|byte| *byte == 0);
    if flags & !flags::ALL != 0 || !is_reserved_zero {
        return Err(Unfit::Foreign);
    }
    let to = get_u64(bytes, 16);
    let header = Header {
        kind,
        flags,
        host: HostId(get_u64(bytes, 8)),
        to: (to != 0).then_some(HostId(to)),
        member: get_u16(bytes, 48),
        epoch: get_u64(bytes, 24),
        position: get_u64(bytes, 32),
        extra: get_u64(bytes, 40),
    };
    Ok((header, payload))
}

/// What a packet says that is of a region, if its header is to be believed.
fn kind_of(header: &[u8; HEADER_LEN]) -> Option<Kind> {
    let is_ours = get_u16(header, 0) == MAGIC && header[2] == VERSION;
    Kind::of(header[3]).filter(|_| is_ours)
}

/// What a packet is about, for who sees it pass: its check is not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// It has writes.
    Writes,
    /// It says how far writes have come, or which are missing.
    Answers,
    /// Anything else that hosts of a region say.
    Other,
}

impl Traffic {
    /// `None` for what is no packet of a region.
    pub fn of(datagram: &[u8]) -> Option<Self> {
        Some(match kind_of(datagram.first_chunk()?)? {
            Kind::Data => Self::Writes,
            Kind::Status | Kind::Nak => Self::Answers,
            _ => Self::Other,
        })
    }
}

/// A packet that is being made: room for the header, then the payload.
pub(crate) struct Making<'b> {
    bytes: &'b mut Vec<u8>,
}

impl<'b> Making<'b> {
    pub fn new(bytes: &'b mut Vec<u8>) -> Self {
        bytes.clear();
        bytes.resize(HEADER_LEN, 0);
        Self { bytes }
    }

    /// Room for so many more bytes.
    pub fn room(&mut self, len_bytes: usize) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.resize(start + len_bytes, 0);
        &mut self.bytes[start..]
    }

    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes the header, and the check.
    pub fn close(self, header: Header, keys: &JobKeys) {
        let (room, payload) = self.bytes.split_at_mut(HEADER_LEN);
        let mut bytes = header.to_bytes(payload.len() as u16);
        seal(&mut bytes, payload, keys, keys.setup());
        room.copy_from_slice(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(byte: u8) -> JobKeys {
        JobKeys::derive(&[byte; 32])
    }

    fn packet(keys: &JobKeys) -> (Header, Vec<u8>) {
        let header = Header {
            flags: flags::SKIP,
            to: Some(HostId(9)),
            member: 255,
            epoch: 1 << 40,
            position: 7,
            extra: u64::MAX,
            ..Header::new(Kind::Start, HostId(5))
        };
        let mut bytes = Vec::new();
        let mut making = Making::new(&mut bytes);
        making.put(b"abc");
        making.close(header, keys);
        (header, bytes)
    }

    #[test]
    fn what_was_made_is_read() {
        let (header, bytes) = packet(&keys(1));
        assert_eq!(open(&bytes, &keys(1)), Ok((header, &b"abc"[..])));
    }

    #[test]
    fn another_key_or_a_flipped_bit_is_not_believed() {
        let (_, bytes) = packet(&keys(1));
        assert_eq!(open(&bytes, &keys(2)), Err(Unfit::Forged));
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&damaged, &keys(1)).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert_eq!(open(&bytes[..len], &keys(1)), Err(Unfit::Foreign));
        }
    }
}
