//! What one-sided operations say ([ADI-8]).

use bcl_types::{Refusal, SYSTEM_MAX};

use super::{Comes, FOLLOWS, HAS_DATA, Kind, Read, Words, Writer, Written};
use crate::atomics::Atomic;

/// Longest access, and longest operands of an atomic operation, that go on the system channel.
pub const SHORT_MAX: usize = SYSTEM_MAX - 64;

const FETCHES: u8 = 0x01;

/// Where in a peer's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    pub key: u64,
    pub address: u64,
}

/// Requests, and what is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OneSided {
    /// Bytes for memory.
    Put { at: At, data: Option<u64> },
    /// Bytes of memory are wanted.
    Get { at: At, len_bytes: u64 },
    /// Elements of memory are to be changed.
    Atomic {
        at: At,
        atomic: Atomic,
        count: u32,
        /// What was there is wanted.
        fetches: bool,
    },
    /// More bytes for memory, as a body of that name.
    Write {
        at: At,
        data: Option<u64>,
        len_bytes: u64,
        name: u64,
        comes: Comes,
    },
    /// The oldest requests that have no other answer are done.
    Done { count: u64 },
    /// What the oldest one wanted.
    Value,
    /// What the oldest one wanted comes as a body of that name.
    Body {
        len_bytes: u64,
        name: u64,
        comes: Comes,
    },
    /// The oldest one is not permitted.
    Refused { why: Refusal },
    /// The body of that name is not: no memory is given to it.
    Unwanted { name: u64, why: Refusal },
}

impl OneSided {
    pub(super) fn write(&self, to: &mut Writer<'_>) -> Written {
        match *self {
            Self::Put { at, data } => {
                to.data(data);
                to.words([at.key, at.address]);
                (6, has_data(data))
            }
            Self::Get { at, len_bytes } => {
                to.words([at.key, at.address, len_bytes]);
                (7, 0)
            }
            Self::Atomic {
                at,
                atomic,
                count,
                fetches,
            } => {
                let [function, datum] = atomic.to_bytes();
                let what = u64::from(function) | u64::from(datum) << 8 | u64::from(count) << 32;
                to.words([at.key, at.address, what]);
                (8, if fetches { FETCHES } else { 0 })
            }
            Self::Write {
                at,
                data,
                len_bytes,
                name,
                comes,
            } => {
                to.data(data);
                to.words([at.key, at.address, len_bytes, name]);
                (9, has_data(data) | comes.flags())
            }
            Self::Done { count } => {
                to.words([count]);
                (10, 0)
            }
            Self::Value => (11, 0),
            Self::Body {
                len_bytes,
                name,
                comes,
            } => {
                to.words([len_bytes, name]);
                (12, comes.flags())
            }
            Self::Refused { why } => {
                to.words([number_of(why)]);
                (13, 0)
            }
            Self::Unwanted { name, why } => {
                to.words([name, number_of(why)]);
                (14, 0)
            }
        }
    }

    pub(super) fn read(number: u8, flags: u8, words: &mut Words) -> Option<Read> {
        let (one_sided, known_flags, has_payload) = match number {
            6 => {
                let data = words.data(flags)?;
                let at = At::read(words)?;
                (Self::Put { at, data }, HAS_DATA, true)
            }
            7 => {
                let at = At::read(words)?;
                let len_bytes = words.next()?;
                (Self::Get { at, len_bytes }, 0, false)
            }
            8 => {
                let at = At::read(words)?;
                let [function, datum, 0, 0, count @ ..] = words.next()?.to_le_bytes() else {
                    return None;
                };
                let atomic = Self::Atomic {
                    at,
                    atomic: Atomic::from_bytes([function, datum])?,
                    count: u32::from_le_bytes(count),
                    fetches: flags & FETCHES != 0,
                };
                (atomic, FETCHES, true)
            }
            9 => {
                let data = words.data(flags)?;
                let at = At::read(words)?;
                let (len_bytes, name) = (words.next()?, words.next()?);
                let write = Self::Write {
                    at,
                    data,
                    len_bytes,
                    name,
                    comes: as_body(flags),
                };
                (write, HAS_DATA | FOLLOWS, false)
            }
            10 => (
                Self::Done {
                    count: words.next()?,
                },
                0,
                false,
            ),
            11 => (Self::Value, 0, true),
            12 => {
                let body = Self::Body {
                    len_bytes: words.next()?,
                    name: words.next()?,
                    comes: as_body(flags),
                };
                (body, FOLLOWS, false)
            }
            13 => {
                let why = refusal_of(words.next()?)?;
                (Self::Refused { why }, 0, false)
            }
            14 => {
                let name = words.next()?;
                let why = refusal_of(words.next()?)?;
                (Self::Unwanted { name, why }, 0, false)
            }
            _ => return None,
        };
        Some((Kind::OneSided(one_sided), known_flags, has_payload))
    }
}

impl At {
    fn read(words: &mut Words) -> Option<Self> {
        Some(Self {
            key: words.next()?,
            address: words.next()?,
        })
    }
}

fn has_data(data: Option<u64>) -> u8 {
    if data.is_some() { HAS_DATA } else { 0 }
}

fn as_body(flags: u8) -> Comes {
    match flags & FOLLOWS {
        0 => Comes::AsBody,
        _ => Comes::Unasked,
    }
}

fn number_of(why: Refusal) -> u64 {
    match why {
        Refusal::Denied => 1,
        Refusal::Range => 2,
        Refusal::NoWindow => 3,
    }
}

fn refusal_of(number: u64) -> Option<Refusal> {
    match number {
        1 => Some(Refusal::Denied),
        2 => Some(Refusal::Range),
        3 => Some(Refusal::NoWindow),
        _ => None,
    }
}
