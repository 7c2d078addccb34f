//! What the proofs are made over: HSK-2 of `spec/handshake.md`.

use std::fmt;

use hmac::Mac;

use super::wire::Hello;
use super::{Nonce, VERSION};
use crate::key::JobKey;

/// Length of an HMAC-SHA256.
pub(super) const PROOF_BYTES: usize = 32;

/// That its sender knows the key. Compared only in constant time, by [`Transcript`].
#[derive(Clone)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Proof(pub [u8; PROOF_BYTES]);

/// All that both sides have said up to the proofs.
#[derive(Clone)]
pub(super) struct Transcript {
    key: JobKey,
    hello: Hello,
    server_nonce: Nonce,
}

impl Transcript {
    pub(super) fn new(key: JobKey, hello: Hello, server_nonce: Nonce) -> Transcript {
        Transcript {
            key,
            hello,
            server_nonce,
        }
    }

    /// The proof of CHALLENGE.
    pub(super) fn server_proof(&self) -> Proof {
        finish(self.mac(b"server"))
    }

    pub(super) fn is_server_proof(&self, proof: &Proof) -> bool {
        is_same(self.mac(b"server"), proof)
    }

    /// The proof of PROVE.
    pub(super) fn client_proof(&self, offer: &[u8]) -> Proof {
        finish(self.mac(b"client").chain_update(offer))
    }

    pub(super) fn is_client_proof(&self, proof: &Proof, offer: &[u8]) -> bool {
        is_same(self.mac(b"client").chain_update(offer), proof)
    }

    /// The proof of WELCOME. It covers the client's proof and with it the client's offer, so that
    /// both know that both offers have arrived as they were sent.
    pub(super) fn welcome_proof(&self, client: &Proof, offer: &[u8]) -> Proof {
        finish(
            self.mac(b"welcome")
                .chain_update(client.0)
                .chain_update(offer),
        )
    }

    pub(super) fn is_welcome_proof(&self, proof: &Proof, client: &Proof, offer: &[u8]) -> bool {
        is_same(
            self.mac(b"welcome")
                .chain_update(client.0)
                .chain_update(offer),
            proof,
        )
    }

    /// Everything before an offer has a fixed length, so that no two transcripts look the same.
    fn mac(&self, label: &[u8]) -> impl Mac + use<> {
        let mut padded_label = [0; 8];
        padded_label[..label.len()].copy_from_slice(label);
        self.key
            .mac()
            .chain_update(padded_label)
            .chain_update(VERSION.to_le_bytes())
            .chain_update([self.hello.purpose.code()])
            .chain_update(self.hello.client.to_bytes())
            .chain_update(self.hello.target.to_bytes())
            .chain_update(self.hello.nonce.0)
            .chain_update(self.server_nonce.0)
    }
}

fn finish(mac: impl Mac) -> Proof {
    let mut proof = Proof([0; PROOF_BYTES]);
    proof.0.copy_from_slice(&mac.finalize().into_bytes());
    proof
}

fn is_same(mac: impl Mac, proof: &Proof) -> bool {
    mac.verify_slice(&proof.0).is_ok()
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof(..)")
    }
}
