//! What programs and the agent say to each other ([AGENT-2]).

use std::fmt;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::hex::Key;

/// Version of the document that both sides follow.
pub const VERSION: u32 = 1;
/// Longest request ([AGENT-2.1]).
pub const MAX_REQUEST_BYTES: usize = 4096;
/// Longest answer: the outcomes of a connection can be as long.
pub const MAX_ANSWER_BYTES: usize = 16_384;
/// Size of a ring if the program does not say ([AGENT-4.2]).
pub const DEFAULT_RING_BYTES: u32 = 1 << 20;
/// Sizes that a ring can have, powers of two ([AGENT-4.2]).
pub const RING_BYTES: std::ops::RangeInclusive<u32> = 64 << 10..=16 << 20;
/// Memory for windows comes in multiples of this ([AGENT-6.1]).
pub const MEMORY_BLOCK_BYTES: u64 = 64 << 10;
/// Largest memory for windows.
pub const MEMORY_MAX_BYTES: u64 = 1 << 30;
/// Size of the control page and of the statistics.
pub const PAGE_BYTES: usize = 4096;

/// What a program asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// A port; the connection is its from then on ([AGENT-4]).
    Open {
        /// Address that the port's packets carry.
        node: Ipv4Addr,
        /// Number of the port, or any that is free.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<u16>,
        /// Size of the ring.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ring_bytes: Option<u32>,
        /// Secret of the job's packets ([WIRE-3.3]).
        secret: Key<32>,
    },
    /// The port that this process had with an agent that is gone ([AGENT-8.3]).
    Resume {
        /// Address of the port.
        node: Ipv4Addr,
        /// Its number.
        number: u16,
    },
    /// The MCP, the interface program, has a connection from now on ([AGENT-5.1]).
    Enter(Connection),
    /// ... and no longer ([AGENT-5.2]).
    Remove {
        /// Number that the port gave the connection.
        connection: u32,
    },
    /// Memory for windows ([AGENT-6.1]).
    Memory {
        /// How much of it is needed.
        bytes: u64,
    },
    /// Memory is no longer needed ([AGENT-6.3]).
    Free {
        /// Its number.
        memory: u32,
    },
    /// Peers may use a window ([AGENT-6.2]).
    Bind(Window),
    /// ... and no longer.
    Unbind {
        /// Number of the window.
        window: u16,
    },
    /// The port ends.
    Close {},
    /// What the agent knows: JSON of [`Status`](crate::Status).
    Status {},
    /// The same for Prometheus.
    Metrics {},
}

/// What the agent says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// First of all: ask.
    Ready {
        /// Of `spec/agent.md`.
        version: u32,
        /// Version of the agent.
        agent: String,
        /// Interfaces that have the MCP.
        interfaces: Vec<String>,
    },
    /// It was not done.
    Failed(Failure),
    /// The port; its descriptors come beside.
    Opened {
        /// Its number.
        number: u16,
        /// Size of its ring.
        ring_bytes: u32,
        /// Datagrams that were sent together may come to the MCP as one, which it cannot read.
        singly: bool,
    },
    /// It is done, and there is nothing to tell.
    Done {},
    /// The MCP no longer has the connection.
    Removed {
        /// How far it has come, if it had begun.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Progress>,
    },
    /// Memory; its map comes beside.
    Memory {
        /// Number for later requests.
        memory: u32,
        /// Its length.
        bytes: u64,
    },
    /// A text; the memory file that it is in comes beside.
    Text {
        /// Its length.
        bytes: u64,
    },
}

/// A connection that the MCP is to have ([AGENT-5.1]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Number that the port gave it, not 0.
    pub connection: u32,
    /// For what the peer sends.
    pub key_theirs: Key<16>,
    /// For what is sent from here.
    pub key_ours: Key<16>,
    /// The sequence that is expected next.
    pub expected: u32,
}

/// How far the MCP has come with what a peer sends ([AGENT-5.2]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// The oldest sequence that is missing.
    pub expected: u32,
    /// Which were taken of those from `expected` on: bit *i* mod 8 of byte *i* / 8, of the sequence modulo 1,024.
    pub taken: Key<128>,
    /// Packets that were taken and not acknowledged by the MCP.
    pub due: u32,
    /// What is refused since, if anything ([MCP-4.1]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// Of one-sided operations ([MCP-4.5]), by slot; slots that nothing was asked for on are left out.
    pub outcomes: Vec<Outcome>,
}

/// A message that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// Its number.
    pub message: u32,
    /// Sequence of its first packet.
    pub sequence: u32,
}

/// What has become of a one-sided operation ([MCP-4.5]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Its slot.
    pub slot: u16,
    /// Its number.
    pub number: u32,
    /// Whether it is the MCP's; else the program's.
    pub of_mcp: bool,
    /// Whether it is done.
    pub done: bool,
    /// As an ANSWER tells it.
    pub status: u32,
    /// What an atomic has found.
    pub value: u64,
    /// Where it began in the window.
    pub begin: u64,
}

/// What peers may use of a memory, and how ([AGENT-6.2]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Number of the window.
    pub window: u16,
    /// Number of the memory.
    pub memory: u32,
    /// Where it begins there.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Bits: 1 get, 2 put, 4 atomic, 8 notify.
    pub access: u32,
}

/// Why something was not done, for people ([AGENT-2.3]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// For programs.
    pub code: Code,
    /// What could not be done, and to what: "open port 10.0.0.1:7".
    pub what: String,
    /// The reason.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The request breaks the document.
    Invalid,
    /// The user or process may not.
    NotPermitted,
    /// A limit of the user is reached.
    Limit,
    /// Somebody has it, or it is needed.
    InUse,
    /// There is no such thing.
    Unknown,
    /// Tables or the kernel's memory are full.
    NoRoom,
    /// Not on this machine.
    Unsupported,
    /// The kernel refuses.
    System,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.what, self.why)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

/// A datagram that is no message.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Longer than any message.
    #[error("it has {len_bytes} bytes, and {max_bytes} are the most")]
    TooLong {
        /// Its length.
        len_bytes: usize,
        /// How long it could be.
        max_bytes: usize,
    },
    /// Not the JSON of a message.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// A kind of message.
pub trait Message: Serialize + for<'a> Deserialize<'a> {
    /// How long one can be.
    const MAX_BYTES: usize;
}

impl Message for Request {
    const MAX_BYTES: usize = MAX_REQUEST_BYTES;
}

impl Message for Answer {
    const MAX_BYTES: usize = MAX_ANSWER_BYTES;
}

/// Reads a message. Never much more memory is needed for it than it has bytes.
///
/// # Errors
/// When it breaks [AGENT-2.1].
pub fn read<M: Message>(datagram: &[u8]) -> Result<M, Unreadable> {
    check_length::<M>(datagram)?;
    Ok(serde_json::from_slice(datagram)?)
}

/// Writes a message.
///
/// # Errors
/// When a text in it is so long that it would not be read.
pub fn write<M: Message>(message: &M) -> Result<Vec<u8>, Unreadable> {
    let datagram = serde_json::to_vec(message)?;
    check_length::<M>(&datagram)?;
    Ok(datagram)
}

fn check_length<M: Message>(datagram: &[u8]) -> Result<(), Unreadable> {
    let (len_bytes, max_bytes) = (datagram.len(), M::MAX_BYTES);
    match len_bytes > max_bytes {
        true => Err(Unreadable::TooLong {
            len_bytes,
            max_bytes,
        }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_request(text: &str) -> Result<Request, Unreadable> {
        read(text.as_bytes())
    }

    #[test]
    fn requests_read_as_documented() {
        let open = format!(
            r#"{{"open":{{"node":"10.0.0.1","secret":"{}"}}}}"#,
            "5a".repeat(32)
        );
        let expected = Request::Open {
            node: Ipv4Addr::new(10, 0, 0, 1),
            number: None,
            ring_bytes: None,
            secret: Key([0x5a; 32]),
        };
        assert_eq!(read_request(&open).unwrap(), expected);
        assert_eq!(write(&expected).unwrap(), open.as_bytes());
        assert_eq!(read_request(r#"{"close":{}}"#).unwrap(), Request::Close {});
        let bind = r#"{"bind":{"window":3,"memory":1,"offset":8,"bytes":64,"access":7}}"#;
        assert!(matches!(
            read_request(bind).unwrap(),
            Request::Bind(Window { window: 3, .. })
        ));
    }

    #[test]
    fn what_the_document_does_not_name_is_refused() {
        for text in [
            "",
            "7",
            "{}",
            r#""close""#,
            r#"{"close":{"x":1}}"#,
            r#"{"close":{}}{"close":{}}"#,
            r#"{"close":{},"status":{}}"#,
            r#"{"unbind":{"window":65536}}"#,
            r#"{"unbind":{"window":-1}}"#,
            r#"{"unbind":{}}"#,
            r#"{"memory":{"bytes":1e3}}"#,
            r#"{"remove":{"connection":1,"connection":2}}"#,
            r#"{"resume":{"node":"::1","number":7}}"#,
            r#"{"shutdown":{}}"#,
        ] {
            assert!(read_request(text).is_err(), "{text}");
        }
        let long = format!(r#"{{"close":{{}}}}{}"#, " ".repeat(MAX_REQUEST_BYTES));
        assert!(matches!(
            read_request(&long),
            Err(Unreadable::TooLong { .. })
        ));
    }

    #[test]
    fn a_text_that_would_not_be_read_is_not_written() {
        let failure = Failure {
            code: Code::System,
            what: "x".repeat(MAX_ANSWER_BYTES),
            why: String::new(),
            remedy: String::new(),
        };
        assert!(write(&Answer::Failed(failure)).is_err());
    }

    #[test]
    fn the_longest_state_of_a_connection_fits() {
        let outcome = |slot| Outcome {
            slot,
            number: u32::MAX,
            of_mcp: false,
            done: false,
            status: u32::MAX,
            value: u64::MAX,
            begin: u64::MAX,
        };
        let state = Progress {
            expected: u32::MAX,
            taken: Key([255; 128]),
            due: u32::MAX,
            refused: Some(Refused {
                message: u32::MAX,
                sequence: u32::MAX,
            }),
            outcomes: (0..64).map(outcome).collect(),
        };
        let state = Some(state);
        let removed = Answer::Removed { state };
        let datagram = write(&removed).unwrap();
        assert_eq!(read::<Answer>(&datagram).unwrap(), removed);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read::<Request>(&bytes);
            let _ = read::<Answer>(&bytes);
        }

        #[test]
        fn windows_round_trip(window: u16, memory: u32, offset: u64, bytes: u64, access: u32) {
            let bind = Request::Bind(Window { window, memory, offset, bytes, access });
            prop_assert_eq!(read::<Request>(&write(&bind).unwrap()).unwrap(), bind);
        }
    }
}
