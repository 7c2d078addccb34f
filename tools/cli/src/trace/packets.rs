//! The packets in a datagram, and whether they can be believed.

use std::collections::HashMap;

use bcl_wire::body::Setup;
use bcl_wire::{CheckKey, HEADER_LEN, Header, JobKeys, Kind, MAGIC, Transcript, udp_port, verify};

use super::frame::Datagram;

/// Connections that are followed; a capture with more begins anew.
const MAX_CONNECTIONS: usize = 100_000;

/// Whether a datagram comes from a BCL port or goes to one ([WIRE-1.1]).
pub fn is_ours(datagram: &Datagram<'_>) -> bool {
    [datagram.source, datagram.destination]
        .iter()
        .any(|address| udp_port::to_port(address.port()).is_some())
}

/// The packets in a datagram as captured. There can be a run of them, where a kernel has put segments
/// together or has not taken them apart yet; then each says how long it is.
pub fn packets(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (packet, rest) = bytes.split_at(first_len(bytes));
        bytes = rest;
        (!packet.is_empty()).then_some(packet)
    })
}

fn first_len(bytes: &[u8]) -> usize {
    let half = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    match (half(0), half(6)) {
        (Some(MAGIC), Some(payload_len)) => {
            let len = HEADER_LEN + usize::from(payload_len);
            let is_followed = half(len) == Some(MAGIC) && bytes.len() >= len + HEADER_LEN;
            if is_followed { len } else { bytes.len() }
        }
        _ => bytes.len(),
    }
}

/// What the check of a packet says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is right.
    Right,
    /// It is wrong: the packet is damaged, forged, or of another job.
    Wrong,
    /// The packet says that it is of another job.
    OtherJob,
    /// The key is not known: none was given, or the set-up of the connection was not seen.
    Unknown,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Right => "ok",
            Self::Wrong => "WRONG",
            Self::OtherJob => "other job",
            Self::Unknown => "unknown",
        }
    }
}

/// Checks the packets of a job. A CONFIRM holds all that the keys of its connection depend on, so that
/// whoever has the key of the job and saw the CONFIRM can check what follows.
pub struct Checker {
    job: Option<Box<JobKeys>>,
    /// By the numbers of a connection: sender's, receiver's.
    keys: HashMap<(u32, u32), CheckKey>,
}

impl Checker {
    /// With the secret of the job's packets, if it is known.
    pub fn new(secret: Option<[u8; 32]>) -> Self {
        Self {
            job: secret.map(|secret| Box::new(JobKeys::derive(&secret))),
            keys: HashMap::new(),
        }
    }

    pub fn verdict(&mut self, header: &Header, packet: &[u8]) -> Verdict {
        let Some(job) = self.job.as_deref() else {
            return Verdict::Unknown;
        };
        let numbers = (header.from_connection, header.to_connection);
        let key = if header.kind.is_setup() || header.kind == Kind::Refuse {
            Some(job.setup())
        } else {
            self.keys.get(&numbers)
        };
        let Some(key) = key else {
            return Verdict::Unknown;
        };
        if !verify(packet, job, key) {
            let is_other = setup_of(header, packet).is_some_and(|setup| setup.job_id != job.id());
            return if is_other {
                Verdict::OtherJob
            } else {
                Verdict::Wrong
            };
        }
        if header.kind == Kind::Confirm {
            self.learn(header, packet);
        }
        Verdict::Right
    }

    fn learn(&mut self, header: &Header, packet: &[u8]) {
        let (Some(job), Some(setup)) = (&self.job, setup_of(header, packet)) else {
            return;
        };
        let keys = job.connection(&Transcript {
            initiator: (setup.initiator_node, header.from_port),
            responder: (setup.responder_node, header.to_port),
            initiator_incarnation: setup.initiator_incarnation,
            responder_incarnation: setup.responder_incarnation,
            initiator_nonce: setup.initiator_nonce,
            token: setup.token,
        });
        if self.keys.len() >= MAX_CONNECTIONS {
            self.keys.clear();
        }
        let (from, to) = (header.from_connection, header.to_connection);
        self.keys.insert((from, to), keys.from_initiator);
        self.keys.insert((to, from), keys.from_responder);
    }
}

fn setup_of(header: &Header, packet: &[u8]) -> Option<Setup> {
    let payload = packet.get(HEADER_LEN..)?;
    header.kind.is_setup().then(|| Setup::from_bytes(payload))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_taken_apart_and_anything_else_stays_whole() {
        let packet = |payload: &[u8]| {
            let mut header = Header::new(Kind::Body);
            header.payload_len_bytes = payload.len() as u16;
            [&header.to_bytes()[..], payload].concat()
        };
        let run = [packet(b"one"), packet(b""), packet(b"three")];
        let bytes = run.concat();
        assert_eq!(packets(&bytes).collect::<Vec<_>>(), run);
        let wrong = [&packet(b"one")[..], b"behind it"].concat();
        for bytes in [&wrong[..], b"BC", b"something else"] {
            assert_eq!(packets(bytes).collect::<Vec<_>>(), [bytes]);
        }
        assert_eq!(packets(b"").count(), 0);
    }
}
