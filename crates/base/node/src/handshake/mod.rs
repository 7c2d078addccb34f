//! Two ports prove to each other that they belong to the same job, and agree to a connection.
//!
//! ```text
//! client                                     server
//!   HELLO      who I am, whom I want, nonce -->
//!   <-- CHALLENGE    nonce, proof of the key
//!   PROVE      proof of the key, offer      -->     (descriptors travel beside it)
//!   <-- WELCOME      proof of the key, offer        (descriptors travel beside it)
//! ```
//!
//! Either side can answer with REFUSE instead, with a reason. The rules are in
//! `spec/handshake.md`; this module obeys them as pure state machines: bytes and nonces in, bytes
//! out, no socket, no clock. What an *offer* contains is not its business, but it proves that
//! nobody has changed it.

mod client;
mod refusal;
mod server;
mod transcript;
mod wire;

use std::io;

pub use client::{Challenged, Client};
pub use refusal::{Failure, Reason, Refusal, Side, refuse};
pub use server::{Proved, Server};

/// The version of the handshake that this library speaks.
pub const VERSION: u16 = 1;

/// The longest offer.
pub const MAX_OFFER_BYTES: usize = 512;

/// The longest message: a buffer of this size receives any of them.
pub const MAX_MESSAGE_BYTES: usize = wire::MAX_MESSAGE_BYTES;

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A connection between two ports.
    Connect,
    /// Only to read the counters of a port. The client has no port of its own: its number is 0.
    Stat,
}

impl Purpose {
    /// What the sender of these bytes wants, if they are a HELLO; nothing is proved yet.
    pub fn of_hello(bytes: &[u8]) -> Option<Purpose> {
        match wire::decode(bytes) {
            Ok(wire::Message::Hello(hello)) => Some(hello.purpose),
            _ => None,
        }
    }
}

/// 16 random bytes that make a handshake unlike any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce(pub [u8; 16]);

impl Nonce {
    /// A new nonce from the kernel's random numbers.
    pub fn random() -> io::Result<Nonce> {
        let mut bytes = [0; 16];
        bcl_os::random(&mut bytes)?;
        Ok(Nonce(bytes))
    }
}
