//! The layout of the five messages: HSK-1 of `spec/handshake.md`.

use bcl_types::Address;

use super::refusal::{Reason, Refusal, Side};
use super::transcript::{PROOF_BYTES, Proof};
use super::{MAX_OFFER_BYTES, Nonce, Purpose, VERSION};

/// "BCLH" in memory.
const MAGIC: u32 = u32::from_le_bytes(*b"BCLH");

const HEADER_BYTES: usize = 8;
const REFUSE_BYTES: usize = HEADER_BYTES + 4;
const OFFER_AT: usize = HEADER_BYTES + PROOF_BYTES;
pub(super) const MAX_MESSAGE_BYTES: usize = OFFER_AT + MAX_OFFER_BYTES;

const KIND_HELLO: u8 = 1;
const KIND_CHALLENGE: u8 = 2;
const KIND_PROVE: u8 = 3;
const KIND_WELCOME: u8 = 4;
const KIND_REFUSE: u8 = 5;

const PURPOSE_CONNECT: u8 = 1;
const PURPOSE_STAT: u8 = 2;

/// A message whose bytes have been checked; what it says has not.
#[derive(Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) enum Message<'a> {
    Hello(Hello),
    Challenge { nonce: Nonce, proof: Proof },
    Prove { proof: Proof, offer: &'a [u8] },
    Welcome { proof: Proof, offer: &'a [u8] },
}

/// What a client says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub purpose: Purpose,
    pub client: Address,
    pub target: Address,
    pub nonce: Nonce,
}

impl Purpose {
    pub(super) fn code(self) -> u8 {
        match self {
            Purpose::Connect => PURPOSE_CONNECT,
            Purpose::Stat => PURPOSE_STAT,
        }
    }

    fn from_code(code: u8) -> Option<Purpose> {
        match code {
            PURPOSE_CONNECT => Some(Purpose::Connect),
            PURPOSE_STAT => Some(Purpose::Stat),
            _ => None,
        }
    }
}

impl Message<'_> {
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Message::Hello(hello) => {
                let parts: [&[u8]; 3] = [
                    &hello.client.to_bytes(),
                    &hello.target.to_bytes(),
                    &hello.nonce.0,
                ];
                compose(KIND_HELLO, hello.purpose.code(), &parts)
            }
            Message::Challenge { nonce, proof } => {
                compose(KIND_CHALLENGE, 0, &[&nonce.0, &proof.0])
            }
            Message::Prove { proof, offer } => compose(KIND_PROVE, 0, &[&proof.0, offer]),
            Message::Welcome { proof, offer } => compose(KIND_WELCOME, 0, &[&proof.0, offer]),
        }
    }
}

pub(super) fn encode_refuse(reason: Reason, detail: u32) -> Vec<u8> {
    compose(KIND_REFUSE, reason.code(), &[&detail.to_le_bytes()])
}

/// The message in `bytes`, or why there is none: it is a REFUSE, of another version, or malformed.
pub(super) fn decode(bytes: &[u8]) -> Result<Message<'_>, Refusal> {
    let malformed = Refusal::ours(Reason::Protocol, 0);
    let Some((header, body)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Err(malformed);
    };
    let [m0, m1, m2, m3, v0, v1, kind, argument] = *header;
    let version = u16::from_le_bytes([v0, v1]);
    if u32::from_le_bytes([m0, m1, m2, m3]) != MAGIC {
        return Err(malformed);
    }
    // HSK-1.3: REFUSE looks the same in all versions, so that versions can refuse each other.
    if kind == KIND_REFUSE {
        return Err(decode_refuse(bytes, version, argument).unwrap_or(malformed));
    }
    if version != VERSION {
        return Err(Refusal {
            version,
            ..Refusal::ours(Reason::Version, version.into())
        });
    }
    decode_body(kind, argument, body).ok_or(malformed)
}

fn decode_refuse(bytes: &[u8], version: u16, reason: u8) -> Option<Refusal> {
    let bytes: &[u8; REFUSE_BYTES] = bytes.try_into().ok()?;
    let [.., d0, d1, d2, d3] = *bytes;
    Some(Refusal {
        reason: Reason::from_code(reason)?,
        detail: u32::from_le_bytes([d0, d1, d2, d3]),
        by: Side::Peer,
        version,
    })
}

fn decode_body(kind: u8, argument: u8, body: &[u8]) -> Option<Message<'_>> {
    if kind == KIND_HELLO {
        return decode_hello(Purpose::from_code(argument)?, body).map(Message::Hello);
    }
    match (kind, argument) {
        (KIND_CHALLENGE, 0) => {
            let (nonce, proof) = body.split_first_chunk()?;
            let proof = Proof(proof.try_into().ok()?);
            Some(Message::Challenge {
                nonce: Nonce(*nonce),
                proof,
            })
        }
        (KIND_PROVE, 0) => {
            let (proof, offer) = decode_offer(body)?;
            Some(Message::Prove { proof, offer })
        }
        (KIND_WELCOME, 0) => {
            let (proof, offer) = decode_offer(body)?;
            Some(Message::Welcome { proof, offer })
        }
        _ => None,
    }
}

fn decode_hello(purpose: Purpose, body: &[u8]) -> Option<Hello> {
    let (client, rest) = body.split_first_chunk()?;
    let (target, nonce) = rest.split_first_chunk()?;
    let hello = Hello {
        purpose,
        client: Address::from_bytes(*client)?,
        target: Address::from_bytes(*target)?,
        nonce: Nonce(nonce.try_into().ok()?),
    };
    // HSK-1.4: only who wants no connection may be without a port.
    let has_port = hello.client.port != 0;
    (has_port == (purpose == Purpose::Connect)).then_some(hello)
}

fn decode_offer(body: &[u8]) -> Option<(Proof, &[u8])> {
    let (proof, offer) = body.split_first_chunk()?;
    (offer.len() <= MAX_OFFER_BYTES).then_some((Proof(*proof), offer))
}

fn compose(kind: u8, argument: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAX_MESSAGE_BYTES);
    bytes.extend(MAGIC.to_le_bytes());
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([kind, argument]);
    for part in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hello() -> Hello {
        Hello {
            purpose: Purpose::Connect,
            client: "10.0.0.1:1024".parse().unwrap(),
            target: "10.0.0.1:7".parse().unwrap(),
            nonce: Nonce(*b"0123456789abcdef"),
        }
    }

    #[test]
    fn hello_has_the_layout_of_the_specification() {
        let expected =
            b"BCLH\x01\x00\x01\x01\x01\0\0\x0a\0\x04\0\0\x01\0\0\x0a\x07\0\0\x000123456789abcdef";
        assert_eq!(Message::Hello(hello()).encode(), expected);
    }

    #[test]
    fn messages_round_trip() {
        let proof = Proof([7; PROOF_BYTES]);
        for message in [
            Message::Hello(hello()),
            Message::Challenge {
                nonce: Nonce([3; 16]),
                proof: proof.clone(),
            },
            Message::Prove {
                proof: proof.clone(),
                offer: b"",
            },
            Message::Welcome {
                proof,
                offer: &[9; MAX_OFFER_BYTES],
            },
        ] {
            let bytes = message.encode();
            assert!(bytes.len() <= MAX_MESSAGE_BYTES);
            assert_eq!(decode(&bytes), Ok(message));
        }
    }

    #[test]
    fn too_long_an_offer_is_malformed() {
        let proof = Proof([7; PROOF_BYTES]);
        let bytes = Message::Prove {
            proof,
            offer: &[0; MAX_OFFER_BYTES + 1],
        }
        .encode();
        assert_eq!(decode(&bytes).unwrap_err().reason, Reason::Protocol);
    }

    #[test]
    fn a_connection_needs_a_port() {
        let mut nameless = hello();
        nameless.client.port = 0;
        assert!(decode(&Message::Hello(nameless).encode()).is_err());
        nameless.purpose = Purpose::Stat;
        assert!(decode(&Message::Hello(nameless).encode()).is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(
            header in prop_oneof![Just(b"BCLH\x01\0".to_vec()), Just(vec![])],
            rest in proptest::collection::vec(any::<u8>(), 0..600),
        ) {
            let bytes = [header, rest].concat();
            if let Ok(message) = decode(&bytes) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }
    }
}
