//! The keys of the check: one hash key for the job, one authentication key for each connection ([WIRE-3]).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::bytes::{get_u64, put_u64};
use crate::nh::{NH_KEY_LEN, NhKey};

/// Authenticates packets: those of set-ups with the job's, all others with their connection's.
#[derive(Clone, Copy)]
pub struct CheckKey(pub(crate) [u64; 2]);

impl CheckKey {
    /// For the agent, which enters it into the interface program's tables.
    pub fn to_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        put_u64(&mut bytes, 0, self.0[0]);
        put_u64(&mut bytes, 8, self.0[1]);
        bytes
    }

    /// As [`to_bytes`](Self::to_bytes) gave it.
    pub fn from_bytes(bytes: &[u8; 16]) -> Self {
        check_key(bytes)
    }
}

impl core::fmt::Debug for CheckKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("CheckKey(..)")
    }
}

/// What all ports of a job derive from its secret. Large: to be kept in one place.
#[derive(Clone)]
pub struct JobKeys {
    secret: [u8; 32],
    id: u64,
    setup: CheckKey,
    pub(crate) nh: NhKey,
}

impl core::fmt::Debug for JobKeys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "JobKeys({:016x})", self.id)
    }
}

/// What a connection is about: all that both ends have said while it was set up ([WIRE-3.4]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transcript {
    /// Node and port number of the initiator.
    pub initiator: (u32, u16),
    /// Node and port number of the responder.
    pub responder: (u32, u16),
    /// As in the set-up.
    pub initiator_incarnation: u64,
    /// As in the set-up.
    pub responder_incarnation: u64,
    /// As in the set-up.
    pub initiator_nonce: u64,
    /// As in the set-up.
    pub token: u64,
}

/// The keys of a connection, one for each direction, so that a packet sent back to its sender is wrong there.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionKeys {
    /// For what the initiator sends.
    pub from_initiator: CheckKey,
    /// For what the responder sends.
    pub from_responder: CheckKey,
}

impl JobKeys {
    /// From the job's secret.
    pub fn derive(secret: &[u8; 32]) -> Self {
        let mut nh = [0; NH_KEY_LEN];
        for (index, block) in (0u32..).zip(nh.chunks_exact_mut(32)) {
            block.copy_from_slice(&digest(secret, "nh", &[&index.to_le_bytes()]));
        }
        Self {
            secret: *secret,
            id: get_u64(&digest(secret, "id", &[]), 0),
            setup: Self::setup_of(secret),
            nh: NhKey::from_bytes(&nh),
        }
    }

    /// The key of set-up alone, which is soon derived: it is enough for packets without payload.
    pub fn setup_of(secret: &[u8; 32]) -> CheckKey {
        check_key(&digest(secret, "setup", &[]))
    }

    /// Whether it was derived from this secret.
    pub fn is_of(&self, secret: &[u8; 32]) -> bool {
        self.secret == *secret
    }

    /// A name of the job that tells nothing of its key.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The key of NH in the form in which it is derived, for the interface program.
    pub fn nh_bytes(&self) -> [u8; NH_KEY_LEN] {
        self.nh.to_bytes()
    }

    /// For HELLO, WELCOME, CONFIRM and REFUSE ([WIRE-3.5]).
    pub fn setup(&self) -> &CheckKey {
        &self.setup
    }

    /// For all other packets of a connection.
    pub fn connection(&self, transcript: &Transcript) -> ConnectionKeys {
        let ports = |(node, port): (u32, u16)| {
            let mut bytes = [0; 6];
            bytes[..4].copy_from_slice(&node.to_le_bytes());
            bytes[4..].copy_from_slice(&port.to_le_bytes());
            bytes
        };
        let block = digest(
            &self.secret,
            "connection",
            &[
                &ports(transcript.initiator),
                &ports(transcript.responder),
                &transcript.initiator_incarnation.to_le_bytes(),
                &transcript.responder_incarnation.to_le_bytes(),
                &transcript.initiator_nonce.to_le_bytes(),
                &transcript.token.to_le_bytes(),
            ],
        );
        let [first, second] = [&block[..16], &block[16..]].map(check_key);
        ConnectionKeys {
            from_initiator: first,
            from_responder: second,
        }
    }
}

/// The parts have fixed lengths for each label, so that they need no separators.
fn digest(secret: &[u8; 32], label: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(b"bcl wire 1 ");
    mac.update(label.as_bytes());
    mac.update(&[0]);
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// From the first 16 bytes.
fn check_key(block: &[u8]) -> CheckKey {
    CheckKey([get_u64(block, 0), get_u64(block, 8)])
}
