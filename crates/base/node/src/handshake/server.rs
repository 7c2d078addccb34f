//! The side that has accepted.

use bcl_types::Address;

use super::refusal::{Failure, Reason, Refusal};
use super::transcript::{Proof, Transcript};
use super::wire::{self, Hello, Message};
use super::{MAX_OFFER_BYTES, Nonce, Purpose};
use crate::key::JobKey;

/// The server's side of one handshake, from its CHALLENGE on.
pub struct Server {
    hello: Hello,
    transcript: Transcript,
    /// The proof of the client, once it has been found right.
    proved: Option<Proof>,
}

/// A client that knows the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proved {
    /// Who it is; its port is 0 if it only wants the counters.
    pub client: Address,
    /// What it wants.
    pub purpose: Purpose,
    /// What it has sent with its proof.
    pub offer: Vec<u8>,
}

impl Server {
    /// Takes the first message of a client that has connected to `me`; returns the CHALLENGE to
    /// send as well.
    pub fn on_hello(
        key: &JobKey,
        me: Address,
        nonce: Nonce,
        bytes: &[u8],
    ) -> Result<(Server, Vec<u8>), Failure> {
        let Message::Hello(hello) = wire::decode(bytes)? else {
            return Err(Refusal::ours(Reason::Protocol, 0).into());
        };
        if hello.target != me {
            return Err(Refusal::ours(Reason::NoPort, me.port.into()).into());
        }
        let transcript = Transcript::new(key.clone(), hello, nonce);
        let challenge = Message::Challenge {
            nonce,
            proof: transcript.server_proof(),
        }
        .encode();
        Ok((
            Server {
                hello,
                transcript,
                proved: None,
            },
            challenge,
        ))
    }

    /// Who the client says it is. It has not proved anything yet.
    pub fn claimed_client(&self) -> Address {
        self.hello.client
    }

    /// Takes the client's answer to CHALLENGE.
    pub fn on_prove(&mut self, bytes: &[u8]) -> Result<Proved, Failure> {
        let Message::Prove { proof, offer } = wire::decode(bytes)? else {
            return Err(Refusal::ours(Reason::Protocol, 0).into());
        };
        if self.proved.is_some() {
            return Err(Refusal::ours(Reason::Protocol, 0).into());
        }
        if !self.transcript.is_client_proof(&proof, offer) {
            return Err(Refusal::ours(Reason::Key, 0).into());
        }
        self.proved = Some(proof);
        let Hello {
            client, purpose, ..
        } = self.hello;
        Ok(Proved {
            client,
            purpose,
            offer: offer.to_vec(),
        })
    }

    /// The WELCOME to send, with `offer` in it. Panics if the client has not proved itself or the
    /// offer is longer than [`MAX_OFFER_BYTES`].
    pub fn welcome(self, offer: &[u8]) -> Vec<u8> {
        assert!(
            offer.len() <= MAX_OFFER_BYTES,
            "an offer of {} bytes",
            offer.len()
        );
        let client = self
            .proved
            .expect("only a client that has proved itself is welcome");
        let proof = self.transcript.welcome_proof(&client, offer);
        Message::Welcome { proof, offer }.encode()
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("hello", &self.hello)
            .finish_non_exhaustive()
    }
}
