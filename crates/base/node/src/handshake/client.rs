//! The side that has connected.

use bcl_types::Address;

use super::refusal::{Failure, Reason, Refusal};
use super::transcript::{Proof, Transcript};
use super::wire::{self, Hello, Message};
use super::{MAX_OFFER_BYTES, Nonce, Purpose};
use crate::key::JobKey;

/// The client's side of one handshake.
#[derive(Debug)]
pub struct Client {
    key: JobKey,
    hello: Hello,
    state: State,
}

enum State {
    AwaitsChallenge,
    /// The server knows the key, and waits for our proof.
    Challenged(Transcript),
    AwaitsWelcome {
        transcript: Transcript,
        proof: Proof,
    },
    /// Connected or failed.
    Over,
}

/// The server has proved that it knows the key; now it is the client's turn.
#[derive(Debug)]
pub struct Challenged<'a> {
    client: &'a mut Client,
}

impl Client {
    /// Begins a handshake of `me` with `target`; returns the HELLO to send as well.
    ///
    /// With [`Purpose::Stat`] the port of `me` must be 0, otherwise it must not.
    pub fn start(
        key: &JobKey,
        purpose: Purpose,
        me: Address,
        target: Address,
        nonce: Nonce,
    ) -> (Client, Vec<u8>) {
        let hello = Hello {
            purpose,
            client: me,
            target,
            nonce,
        };
        let client = Client {
            key: key.clone(),
            hello,
            state: State::AwaitsChallenge,
        };
        (client, Message::Hello(hello).encode())
    }

    /// Takes the server's answer to HELLO.
    pub fn on_challenge(&mut self, bytes: &[u8]) -> Result<Challenged<'_>, Failure> {
        let state = self.end();
        let message = wire::decode(bytes)?;
        let (State::AwaitsChallenge, Message::Challenge { nonce, proof }) = (state, message) else {
            return Err(Refusal::ours(Reason::Protocol, 0).into());
        };
        let transcript = Transcript::new(self.key.clone(), self.hello, nonce);
        if !transcript.is_server_proof(&proof) {
            return Err(Refusal::ours(Reason::Key, 0).into());
        }
        self.state = State::Challenged(transcript);
        Ok(Challenged { client: self })
    }

    /// Takes the server's answer to PROVE; returns its offer.
    pub fn on_welcome(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
        let state = self.end();
        let message = wire::decode(bytes)?;
        let State::AwaitsWelcome {
            transcript,
            proof: sent,
        } = state
        else {
            return Err(Refusal::ours(Reason::Protocol, 0).into());
        };
        let Message::Welcome { proof, offer } = message else {
            return Err(Refusal::ours(Reason::Protocol, 0).into());
        };
        if !transcript.is_welcome_proof(&proof, &sent, offer) {
            return Err(Refusal::ours(Reason::Key, 0).into());
        }
        Ok(offer.to_vec())
    }

    /// A step that fails ends the handshake; only success sets a new state.
    fn end(&mut self) -> State {
        std::mem::replace(&mut self.state, State::Over)
    }
}

impl Challenged<'_> {
    /// The PROVE to send, with `offer` in it. Panics if the offer is longer than
    /// [`MAX_OFFER_BYTES`].
    pub fn prove(self, offer: &[u8]) -> Vec<u8> {
        assert!(
            offer.len() <= MAX_OFFER_BYTES,
            "an offer of {} bytes",
            offer.len()
        );
        let State::Challenged(transcript) = self.client.end() else {
            unreachable!("the client is borrowed since it was challenged");
        };
        let proof = transcript.client_proof(offer);
        let bytes = Message::Prove {
            proof: proof.clone(),
            offer,
        }
        .encode();
        self.client.state = State::AwaitsWelcome { transcript, proof };
        bytes
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            State::AwaitsChallenge => "AwaitsChallenge",
            State::Challenged(_) => "Challenged",
            State::AwaitsWelcome { .. } => "AwaitsWelcome",
            State::Over => "Over",
        })
    }
}
