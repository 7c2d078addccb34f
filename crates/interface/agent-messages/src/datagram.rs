//! Messages as they travel: one JSON text a datagram ([AGENT-2.1]).

use serde::{Deserialize, Serialize};

use crate::{Answer, Request};

/// Longest message ([AGENT-2.1]): the outcomes of a connection can be as long.
pub const MAX_BYTES: usize = 16_384;

/// A datagram that is no message.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Longer than any message.
    #[error("it has {len_bytes} bytes, and {MAX_BYTES} are the most")]
    TooLong {
        /// Its length.
        len_bytes: usize,
    },
    /// Not the JSON of a message.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// A kind of message.
pub trait Message: Serialize + for<'a> Deserialize<'a> {}

impl Message for Request {}

impl Message for Answer {}

/// Reads a message. Never much more memory is needed for it than it has bytes.
///
/// # Errors
/// When it breaks [AGENT-2.1].
pub fn read<M: Message>(datagram: &[u8]) -> Result<M, Unreadable> {
    check_length(datagram)?;
    Ok(serde_json::from_slice(datagram)?)
}

/// Writes a message.
///
/// # Errors
/// When a text in it is so long that it would not be read.
pub fn write<M: Message>(message: &M) -> Result<Vec<u8>, Unreadable> {
    let datagram = serde_json::to_vec(message)?;
    check_length(&datagram)?;
    Ok(datagram)
}

fn check_length(datagram: &[u8]) -> Result<(), Unreadable> {
    let len_bytes = datagram.len();
    match len_bytes > MAX_BYTES {
        true => Err(Unreadable::TooLong { len_bytes }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Code, Connection, Failure, Key, Outcome, Progress, Refused, Window};

    fn read_request(text: &str) -> Result<Request, Unreadable> {
        read(text.as_bytes())
    }

    #[test]
    fn requests_read_as_documented() {
        let open = format!(r#"{{"open":{{"secret":"{}"}}}}"#, "5a".repeat(32));
        let expected = Request::Open {
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
        let long = format!(r#"{{"close":{{}}}}{}"#, " ".repeat(MAX_BYTES));
        assert!(matches!(
            read_request(&long),
            Err(Unreadable::TooLong { .. })
        ));
    }

    #[test]
    fn a_text_that_would_not_be_read_is_not_written() {
        let failure = Failure {
            code: Code::System,
            what: "x".repeat(MAX_BYTES),
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
        let enter = Request::Enter(Connection {
            connection: u32::MAX,
            peer: "255.255.255.255:65535".parse().unwrap(),
            peer_connection: u32::MAX,
            key_theirs: Key([255; 16]),
            key_ours: Key([255; 16]),
            expected: u32::MAX,
            outcomes: (0..64).map(outcome).collect(),
        });
        let datagram = write(&enter).unwrap();
        assert_eq!(read::<Request>(&datagram).unwrap(), enter);
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
