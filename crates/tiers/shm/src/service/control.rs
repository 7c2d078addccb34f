//! Messages on the socket of an established connection, for what is rare or must not wait for the peer's
//! program: farewells, DMA buffers, windows, and one-sided operations that the owner's thread serves.
//!
//! A packet is a head of eight little-endian words, then data ([SHM-7.3]).

/// Bytes of a packet before its data.
use bcl_types::{Access, Atomic, Cause, OpError};

pub const HEAD_LEN: usize = 64;
/// Data that one packet carries at most; longer operations go in pieces.
pub const DATA_MAX: usize = 64 << 10;

/// One-sided operation, as the owner's thread gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// The data that follows is to be written.
    Put,
    /// So many bytes are to be read.
    Get(u32),
    /// A word is to be changed.
    Atomic(Atomic),
}

/// Memory that is bound to a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    pub len_bytes: u64,
    pub access: Access,
    /// Where it lies in its owner's address space.
    pub address: u64,
}

/// A packet, without its data and descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet {
    /// The port closes.
    Bye(Cause),
    /// A DMA buffer is wanted.
    RegionAsk(u64),
    /// Here it is (with a descriptor), or it does not exist (without).
    Region { region: u64, len_bytes: u64 },
    /// How can this window be reached?
    WindowAsk(u16),
    /// Like this; directly if a descriptor comes along.
    Window {
        window: u16,
        /// What the page says of it at this moment.
        epoch: u64,
        /// What memory is bound, if any is.
        bound: Option<Bound>,
    },
    /// Do this for me.
    Rma {
        token: u64,
        window: u16,
        offset: u64,
        request: Request,
    },
    /// Done, with what an atomic found; data follows for a get.
    RmaDone {
        token: u64,
        result: Result<u64, OpError>,
    },
}

impl Packet {
    /// The head.
    pub fn encode(&self) -> [u8; HEAD_LEN] {
        let words: [u64; 8] = match *self {
            Self::Bye(cause) => {
                let (kind, status) = match cause {
                    Cause::Exited(status) => (2, status as u32),
                    _ => (1, 0),
                };
                [1, kind, u64::from(status), 0, 0, 0, 0, 0]
            }
            Self::RegionAsk(region) => [2, region, 0, 0, 0, 0, 0, 0],
            Self::Region { region, len_bytes } => [3, region, len_bytes, 0, 0, 0, 0, 0],
            Self::WindowAsk(window) => [4, u64::from(window), 0, 0, 0, 0, 0, 0],
            Self::Window {
                window,
                epoch,
                bound,
            } => {
                let [is_bound, len_bytes, access, address] = bound.map_or([0; 4], |bound| {
                    [
                        1,
                        bound.len_bytes,
                        bound.access.bits().into(),
                        bound.address,
                    ]
                });
                [
                    5,
                    u64::from(window),
                    epoch,
                    is_bound,
                    len_bytes,
                    access,
                    address,
                    0,
                ]
            }
            Self::Rma {
                token,
                window,
                offset,
                request,
            } => {
                let (kind, a, b) = match request {
                    Request::Put => (1, 0, 0),
                    Request::Get(len) => (2, u64::from(len), 0),
                    Request::Atomic(Atomic::FetchAdd(value)) => (3, value, 0),
                    Request::Atomic(Atomic::CompareSwap { expected, new }) => (4, expected, new),
                };
                [6, token, u64::from(window), offset, kind, a, b, 0]
            }
            Self::RmaDone { token, result } => match result {
                Ok(value) => [7, token, 0, value, 0, 0, 0, 0],
                Err(error) => [7, token, refusal_code(error), 0, 0, 0, 0, 0],
            },
        };
        let mut bytes = [0; HEAD_LEN];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads a packet from a peer; `None` if no correct peer sends it.
    pub fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, data) = bytes.split_at_checked(HEAD_LEN)?;
        let mut w = [0u64; 8];
        for (word, chunk) in w.iter_mut().zip(head.chunks_exact(8)) {
            *word = u64::from_le_bytes(chunk.try_into().ok()?);
        }
        let packet = match w[0] {
            1 => Self::Bye(if w[1] == 2 {
                Cause::Exited(w[2] as u32 as i32)
            } else {
                Cause::Closed
            }),
            2 => Self::RegionAsk(w[1]),
            3 => Self::Region {
                region: w[1],
                len_bytes: w[2],
            },
            4 => Self::WindowAsk(u16::try_from(w[1]).ok()?),
            5 => Self::Window {
                window: u16::try_from(w[1]).ok()?,
                epoch: w[2],
                bound: match w[3] {
                    0 => None,
                    1 => Some(Bound {
                        len_bytes: w[4],
                        access: Access::from_bits(u32::try_from(w[5]).ok()?)?,
                        address: w[6],
                    }),
                    _ => return None,
                },
            },
            6 => Self::Rma {
                token: w[1],
                window: u16::try_from(w[2]).ok()?,
                offset: w[3],
                request: match w[4] {
                    1 => Request::Put,
                    2 => Request::Get(
                        u32::try_from(w[5])
                            .ok()
                            .filter(|len| *len as usize <= DATA_MAX)?,
                    ),
                    3 => Request::Atomic(Atomic::FetchAdd(w[5])),
                    4 => Request::Atomic(Atomic::CompareSwap {
                        expected: w[5],
                        new: w[6],
                    }),
                    _ => return None,
                },
            },
            7 => Self::RmaDone {
                token: w[1],
                result: refusal_from_code(w[2]).map_or(Ok(w[3]), Err),
            },
            _ => return None,
        };
        Some((packet, data))
    }
}

fn refusal_code(error: OpError) -> u64 {
    match error {
        OpError::RmaDenied => 1,
        OpError::RmaRange => 2,
        OpError::NoWindow => 3,
        _ => 4,
    }
}

fn refusal_from_code(code: u64) -> Option<OpError> {
    Some(match code {
        0 => return None,
        1 => OpError::RmaDenied,
        2 => OpError::RmaRange,
        3 => OpError::NoWindow,
        _ => OpError::Protocol,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let packets = [
            Packet::Bye(Cause::Closed),
            Packet::Bye(Cause::Exited(-3)),
            Packet::RegionAsk(9),
            Packet::Region {
                region: 9,
                len_bytes: 1 << 40,
            },
            Packet::WindowAsk(3),
            Packet::Window {
                window: 3,
                epoch: 5,
                bound: Some(Bound {
                    len_bytes: 4096,
                    access: Access::ALL,
                    address: 1 << 46,
                }),
            },
            Packet::Window {
                window: 4095,
                epoch: 0,
                bound: None,
            },
            Packet::Rma {
                token: 1,
                window: 2,
                offset: 3,
                request: Request::Put,
            },
            Packet::Rma {
                token: 1,
                window: 2,
                offset: 3,
                request: Request::Get(77),
            },
            Packet::Rma {
                token: 1,
                window: 2,
                offset: 3,
                request: Request::Atomic(Atomic::FetchAdd(8)),
            },
            Packet::Rma {
                token: 1,
                window: 2,
                offset: 3,
                request: Request::Atomic(Atomic::CompareSwap {
                    expected: 1,
                    new: 2,
                }),
            },
            Packet::RmaDone {
                token: 4,
                result: Ok(11),
            },
            Packet::RmaDone {
                token: 4,
                result: Err(OpError::RmaRange),
            },
        ];
        for packet in packets {
            let mut bytes = packet.encode().to_vec();
            bytes.extend_from_slice(b"data");
            assert_eq!(Packet::decode(&bytes), Some((packet, &b"data"[..])));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(Packet::decode(&[0; 64]), None);
        assert_eq!(Packet::decode(&[1; 63]), None);
        let mut long_get = Packet::Rma {
            token: 0,
            window: 0,
            offset: 0,
            request: Request::Get(0),
        }
        .encode();
        long_get[40..44].copy_from_slice(&(DATA_MAX as u32 + 1).to_le_bytes());
        assert_eq!(Packet::decode(&long_get), None);
    }
}
