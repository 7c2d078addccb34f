//! Payloads that have a form of their own ([WIRE-2]).

use crate::bytes::{get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};
use crate::kind::Answerer;

/// Payload of HELLO, WELCOME and CONFIRM: what both ends say, each repeating what the other has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Setup {
    /// Names the job without telling its key.
    pub job_id: u64,
    /// Chosen when the initiator's port was opened.
    pub initiator_incarnation: u64,
    /// Chosen when the responder's port was opened; 0 in a HELLO.
    pub responder_incarnation: u64,
    /// Chosen by the initiator for this connection.
    pub initiator_nonce: u64,
    /// Chosen by the responder, from which it knows its WELCOME again; 0 in a HELLO.
    pub token: u64,
    /// When the token was made, in the responder's own units; 0 in a HELLO.
    pub token_time: u64,
    /// Node number of the initiator.
    pub initiator_node: u32,
    /// Node number of the responder.
    pub responder_node: u32,
    /// Sequenced packets that the sender of this packet takes before it has acknowledged the first of them.
    pub receive_window_packets: u16,
    /// Who answers for the sender of this packet.
    pub answerer: Answerer,
}

impl Setup {
    /// Length in bytes.
    pub const LEN: usize = 64;

    /// The form that travels.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        put_u64(&mut bytes, 0, self.job_id);
        put_u64(&mut bytes, 8, self.initiator_incarnation);
        put_u64(&mut bytes, 16, self.responder_incarnation);
        put_u64(&mut bytes, 24, self.initiator_nonce);
        put_u64(&mut bytes, 32, self.token);
        put_u64(&mut bytes, 40, self.token_time);
        put_u32(&mut bytes, 48, self.initiator_node);
        put_u32(&mut bytes, 52, self.responder_node);
        put_u16(&mut bytes, 56, self.receive_window_packets);
        put_u16(&mut bytes, 58, self.answerer.number());
        bytes
    }

    /// From the form that travels; `None` if the length is wrong or reserved bytes are set.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != Self::LEN || get_u32(bytes, 60) != 0 {
            return None;
        }
        Some(Self {
            job_id: get_u64(bytes, 0),
            initiator_incarnation: get_u64(bytes, 8),
            responder_incarnation: get_u64(bytes, 16),
            initiator_nonce: get_u64(bytes, 24),
            token: get_u64(bytes, 32),
            token_time: get_u64(bytes, 40),
            initiator_node: get_u32(bytes, 48),
            responder_node: get_u32(bytes, 52),
            receive_window_packets: get_u16(bytes, 56),
            answerer: Answerer::from_number(get_u16(bytes, 58))?,
        })
    }
}

/// Payload of ACK: beside the header's `ack`, what has arrived out of order, and what is refused for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AckBody {
    /// Bit i of word w: sequence `ack + 1 + 64 w + i` has arrived.
    pub selective: [u64; 4],
    /// Messages on the system channel are refused until this one comes again, if any are.
    pub refusing_system: Option<u32>,
    /// The same for normal channels.
    pub refusing_normal: Option<u32>,
    /// How long the newest packet that this acknowledges has waited for it, in ns.
    pub delay_ns: u32,
    /// How long nobody had looked for packets before one of these was taken, in us; the largest number stands for more as well.
    pub away_us: u16,
}

impl AckBody {
    /// Length in bytes.
    pub const LEN: usize = 48;

    /// The form that travels.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        for (index, word) in self.selective.iter().enumerate() {
            put_u64(&mut bytes, 8 * index, *word);
        }
        put_u32(&mut bytes, 32, self.refusing_system.unwrap_or(0));
        put_u32(&mut bytes, 36, self.refusing_normal.unwrap_or(0));
        put_u32(&mut bytes, 40, self.delay_ns);
        bytes[44] = u8::from(self.refusing_system.is_some());
        bytes[45] = u8::from(self.refusing_normal.is_some());
        put_u16(&mut bytes, 46, self.away_us);
        bytes
    }

    /// From the form that travels; `None` if the length is wrong or a truth value is neither 0 nor 1.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let is_form = bytes.len() == Self::LEN && bytes[44] <= 1 && bytes[45] <= 1;
        is_form.then(|| Self {
            selective: core::array::from_fn(|index| get_u64(bytes, 8 * index)),
            refusing_system: (bytes[44] == 1).then(|| get_u32(bytes, 32)),
            refusing_normal: (bytes[45] == 1).then(|| get_u32(bytes, 36)),
            delay_ns: get_u32(bytes, 40),
            away_us: get_u16(bytes, 46),
        })
    }
}

/// Payload of ATOMIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtomicBody {
    /// Adds, wrapping.
    FetchAdd(u64),
    /// Stores `new` if the word is `expected`.
    CompareSwap {
        /// What must be there.
        expected: u64,
        /// What is stored then.
        new: u64,
    },
}

impl AtomicBody {
    /// Length in bytes.
    pub const LEN: usize = 24;

    /// The form that travels.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let words = match *self {
            Self::FetchAdd(value) => [1, value, 0],
            Self::CompareSwap { expected, new } => [2, expected, new],
        };
        let mut bytes = [0; Self::LEN];
        for (index, word) in words.iter().enumerate() {
            put_u64(&mut bytes, 8 * index, *word);
        }
        bytes
    }

    /// From the form that travels; `None` if it is none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != Self::LEN {
            return None;
        }
        let [kind, first, second] = core::array::from_fn(|index| get_u64(bytes, 8 * index));
        match (kind, second) {
            (1, 0) => Some(Self::FetchAdd(first)),
            (2, new) => Some(Self::CompareSwap {
                expected: first,
                new,
            }),
            _ => None,
        }
    }
}
