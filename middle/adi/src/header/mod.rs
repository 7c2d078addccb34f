//! What stands before the payload of each message on the system channel ([ADI-2]). What one-sided operations say is in
//! [`one_sided`].

pub mod one_sided;
#[cfg(test)]
mod tests;

use bcl_types::{LONG_SYSTEM_MAX, SYSTEM_MAX};

use one_sided::OneSided;

/// Of this text; peers of another are not understood.
const VERSION: u8 = 1;
/// Spaces in which receives and messages find each other ([ADI-1.3]).
pub const SPACES: usize = 4;
/// Longest message that leaves whole on the system channel, to whomever.
pub const EAGER_MAX: usize = SYSTEM_MAX - HEADER_MAX;
/// The same, to a peer that takes long ones.
pub const LONG_EAGER_MAX: usize = LONG_SYSTEM_MAX - HEADER_MAX;
/// Longest message whose memory its sender need not keep: to peers that take no long system messages a copy of it goes, as a body ([ADI-1.5]).
pub const INJECT_MAX: usize = 16 << 10;
/// Longest header of a message that leaves whole.
pub const HEADER_MAX: usize = 16;

const HAS_DATA: u8 = 0x10;
/// It comes unasked.
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
    /// A short message that was announced: it was asked for, or there is credit for it now.
    Data { name: u64, asked: bool },
    /// Nothing but the limit.
    Credit,
    /// Of a one-sided operation.
    OneSided(OneSided),
}

/// What is written besides words: number and flags of the kind.
type Written = (u8, u8);
/// What is read: the kind, flags that it may have, and whether a payload may follow.
type Read = (Kind, u8, bool);

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
    pub fn write(&self, to: &mut [u8]) -> usize {
        let mut writer = Writer { to, len_bytes: 8 };
        let (number, flags) = match self.kind {
            Kind::Eager(envelope) => {
                writer.data(envelope.data);
                (1, envelope.flags())
            }
            Kind::Rts {
                envelope,
                len_bytes,
                name,
                comes,
            } => {
                writer.data(envelope.data);
                writer.words([len_bytes, name]);
                (2, envelope.flags() | comes.flags())
            }
            Kind::Cts { name, wanted } => {
                writer.words([name]);
                (3, if wanted { 0 } else { UNWANTED })
            }
            Kind::Data { name, asked } => {
                writer.words([name]);
                (4, if asked { 0 } else { FOLLOWS })
            }
            Kind::Credit => (5, 0),
            Kind::OneSided(one_sided) => one_sided.write(&mut writer),
        };
        let Writer { to, len_bytes } = writer;
        to[..4].copy_from_slice(&[VERSION, number, flags, 0]);
        to[4..8].copy_from_slice(&self.limit.to_le_bytes());
        len_bytes
    }

    /// The header and the payload behind it; `None` for what no endpoint sends.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (start, mut rest) = bytes.split_first_chunk::<8>()?;
        let [VERSION, number, flags, 0, limit @ ..] = *start else {
            return None;
        };
        let mut words = Words(rest);
        let (kind, known_flags, has_payload) = match number {
            1..=5 => Kind::read(number, flags, &mut words)?,
            _ => OneSided::read(number, flags, &mut words)?,
        };
        rest = words.0;
        let is_right = flags & !known_flags == 0 && (has_payload || rest.is_empty());
        let limit = u32::from_le_bytes(limit);
        is_right.then_some((Self { limit, kind }, rest))
    }
}

/// Writes words behind each other.
struct Writer<'a> {
    to: &'a mut [u8],
    len_bytes: usize,
}

impl Writer<'_> {
    #[inline]
    fn words<const N: usize>(&mut self, words: [u64; N]) {
        for word in words {
            self.to[self.len_bytes..][..8].copy_from_slice(&word.to_le_bytes());
            self.len_bytes += 8;
        }
    }

    /// Completion data, if there are any.
    #[inline]
    fn data(&mut self, data: Option<u64>) {
        if let Some(word) = data {
            self.words([word]);
        }
    }
}

/// What has not been read yet.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    #[inline]
    fn next(&mut self) -> Option<u64> {
        let (word, behind) = self.0.split_first_chunk::<8>()?;
        self.0 = behind;
        Some(u64::from_le_bytes(*word))
    }

    /// Completion data, if there are any; `None` if they should be there and are not.
    #[inline]
    fn data(&mut self, flags: u8) -> Option<Option<u64>> {
        match flags & HAS_DATA {
            0 => Some(None),
            _ => self.next().map(Some),
        }
    }
}

impl Kind {
    #[inline]
    fn read(number: u8, flags: u8, words: &mut Words) -> Option<Read> {
        Some(match number {
            1 => {
                let data = words.data(flags)?;
                let kind = Self::Eager(Envelope::of(flags, data)?);
                (kind, SPACE_BITS | HAS_DATA, true)
            }
            2 => {
                let data = words.data(flags)?;
                let len_bytes = words.next()?;
                let kind = Self::Rts {
                    envelope: Envelope::of(flags, data)?,
                    len_bytes,
                    name: words.next()?,
                    comes: Comes::of(flags, len_bytes)?,
                };
                (kind, SPACE_BITS | HAS_DATA | FOLLOWS | SHORT, false)
            }
            3 => {
                let kind = Self::Cts {
                    name: words.next()?,
                    wanted: flags & UNWANTED == 0,
                };
                (kind, UNWANTED, false)
            }
            4 => {
                let kind = Self::Data {
                    name: words.next()?,
                    asked: flags & FOLLOWS == 0,
                };
                (kind, FOLLOWS, true)
            }
            5 => (Self::Credit, 0, false),
            _ => return None,
        })
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
