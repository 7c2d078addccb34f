//! What stands before the payload of each message on the system channel ([ADI-2]).

use bcl_types::SYSTEM_MAX;

/// Of this text; peers of another are not understood.
const VERSION: u8 = 1;
/// Spaces in which receives and messages find each other ([ADI-1.3]).
pub const SPACES: usize = 4;
/// Longest message that leaves whole on the system channel.
pub const EAGER_MAX: usize = SYSTEM_MAX - 16;

const HAS_DATA: u8 = 0x10;
const FOLLOWS: u8 = 0x20;
const SHORT: u8 = 0x40;
const UNWANTED: u8 = 0x80;

/// A message on the system channel, without its payload and its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// How far the reader may go with its eager messages ([ADI-4.2]).
    pub limit: u32,
    pub kind: Kind,
}

/// What it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A message, whole.
    Eager(Envelope),
    /// A message that waits with its sender, which calls it so.
    Rts {
        envelope: Envelope,
        len_bytes: u64,
        name: u64,
        comes: Comes,
    },
    /// The message of that name is wanted now, or not at all.
    Cts { name: u64, wanted: bool },
    /// A short message that was wanted.
    Data { name: u64 },
    /// Nothing but the limit.
    Credit,
}

/// How what was announced comes ([ADI-5.1]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comes {
    /// As a body, unasked.
    Unasked,
    /// As a body, when it is asked for.
    AsBody,
    /// As DATA, when it is asked for.
    AsData,
}

impl Comes {
    fn flags(self) -> u8 {
        match self {
            Self::Unasked => FOLLOWS,
            Self::AsBody => 0,
            Self::AsData => SHORT,
        }
    }

    fn of(flags: u8, len_bytes: u64) -> Option<Self> {
        match flags & (FOLLOWS | SHORT) {
            FOLLOWS => Some(Self::Unasked),
            0 => Some(Self::AsBody),
            SHORT => (len_bytes <= EAGER_MAX as u64).then_some(Self::AsData),
            _ => None,
        }
    }
}

/// What a receive is told of a message, beside its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    pub space: u8,
    /// Completion data.
    pub data: Option<u64>,
}

impl Header {
    /// Writes it to the beginning of a message, and says how long it is.
    #[inline]
    pub fn write(&self, to: &mut [u8; SYSTEM_MAX]) -> usize {
        let (number, flags, words) = match self.kind {
            Kind::Eager(envelope) => (1, envelope.flags(), [envelope.data, None, None]),
            Kind::Rts {
                envelope,
                len_bytes,
                name,
                comes,
            } => {
                let flags = envelope.flags() | comes.flags();
                (2, flags, [envelope.data, Some(len_bytes), Some(name)])
            }
            Kind::Cts { name, wanted } => {
                let flags = if wanted { 0 } else { UNWANTED };
                (3, flags, [Some(name), None, None])
            }
            Kind::Data { name } => (4, 0, [Some(name), None, None]),
            Kind::Credit => (5, 0, [None; 3]),
        };
        to[..4].copy_from_slice(&[VERSION, number, flags, 0]);
        to[4..8].copy_from_slice(&self.limit.to_le_bytes());
        let mut len_bytes = 8;
        for word in words.into_iter().flatten() {
            to[len_bytes..len_bytes + 8].copy_from_slice(&word.to_le_bytes());
            len_bytes += 8;
        }
        len_bytes
    }

    /// The header and the payload behind it; `None` for what no endpoint sends.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (start, mut rest) = bytes.split_first_chunk::<8>()?;
        let [VERSION, number, flags, 0, limit @ ..] = *start else {
            return None;
        };
        let mut word = || {
            let (word, behind) = rest.split_first_chunk::<8>()?;
            rest = behind;
            Some(u64::from_le_bytes(*word))
        };
        let (kind, known_flags, has_payload) = match number {
            1 => {
                let data = if flags & HAS_DATA != 0 {
                    Some(word()?)
                } else {
                    None
                };
                let kind = Kind::Eager(Envelope::of(flags, data)?);
                (kind, SPACE_BITS | HAS_DATA, true)
            }
            2 => {
                let data = if flags & HAS_DATA != 0 {
                    Some(word()?)
                } else {
                    None
                };
                let len_bytes = word()?;
                let kind = Kind::Rts {
                    envelope: Envelope::of(flags, data)?,
                    len_bytes,
                    name: word()?,
                    comes: Comes::of(flags, len_bytes)?,
                };
                (kind, SPACE_BITS | HAS_DATA | FOLLOWS | SHORT, false)
            }
            3 => {
                let kind = Kind::Cts {
                    name: word()?,
                    wanted: flags & UNWANTED == 0,
                };
                (kind, UNWANTED, false)
            }
            4 => (Kind::Data { name: word()? }, 0, true),
            5 => (Kind::Credit, 0, false),
            _ => return None,
        };
        let is_right = flags & !known_flags == 0 && (has_payload || rest.is_empty());
        let limit = u32::from_le_bytes(limit);
        is_right.then_some((Self { limit, kind }, rest))
    }
}

const SPACE_BITS: u8 = 0x0f;

impl Envelope {
    #[inline]
    fn flags(&self) -> u8 {
        self.space | if self.data.is_some() { HAS_DATA } else { 0 }
    }

    #[inline]
    fn of(flags: u8, data: Option<u64>) -> Option<Self> {
        let space = flags & SPACE_BITS;
        (usize::from(space) < SPACES).then_some(Self { space, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn announced() -> impl Strategy<Value = (u64, Comes)> {
        prop_oneof![
            (any::<u64>(), Just(Comes::Unasked)),
            (any::<u64>(), Just(Comes::AsBody)),
            (0..=EAGER_MAX as u64, Just(Comes::AsData)),
        ]
    }

    fn header() -> impl Strategy<Value = Header> {
        let envelope = || {
            let data = prop::option::of(any::<u64>());
            (0..SPACES as u8, data).prop_map(|(space, data)| Envelope { space, data })
        };
        let kind = prop_oneof![
            envelope().prop_map(Kind::Eager),
            (envelope(), announced(), any::<u64>()).prop_map(
                |(envelope, (len_bytes, comes), name)| Kind::Rts {
                    envelope,
                    len_bytes,
                    name,
                    comes
                }
            ),
            (any::<u64>(), any::<bool>()).prop_map(|(name, wanted)| Kind::Cts { name, wanted }),
            any::<u64>().prop_map(|name| Kind::Data { name }),
            Just(Kind::Credit),
        ];
        (any::<u32>(), kind).prop_map(|(limit, kind)| Header { limit, kind })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(header in header(), payload in prop::collection::vec(any::<u8>(), 0..20)) {
            let mut bytes = [0xff; SYSTEM_MAX];
            let len = header.write(&mut bytes);
            let bare = &bytes[..len];
            prop_assert_eq!(Header::parse(bare), Some((header, &[][..])));
            for short in 0..len {
                prop_assert_eq!(Header::parse(&bare[..short]), None);
            }
            let whole = [bare, &payload].concat();
            let takes_payload = matches!(header.kind, Kind::Eager(_) | Kind::Data { .. });
            let expected = (takes_payload || payload.is_empty()).then_some((header, &payload[..]));
            prop_assert_eq!(Header::parse(&whole), expected);
        }

        /// What is read was written so: no two texts say the same.
        #[test]
        fn what_is_read_is_written_so(mut bytes in prop::collection::vec(any::<u8>(), 8..40), number in 1u8..6) {
            (bytes[0], bytes[1], bytes[3]) = (VERSION, number, 0);
            bytes[2] &= 0xf3;
            if let Some((header, payload)) = Header::parse(&bytes) {
                let mut again = [0; SYSTEM_MAX];
                let len = header.write(&mut again);
                prop_assert_eq!([&again[..len], payload].concat(), bytes);
            }
        }
    }
}
