//! What travels between the launcher and its helper on another host, over the streams of a remote shell.
//!
//! A frame is its kind (one byte), a rank and the length of its payload (32 bits each, little-endian), and the
//! payload. Before the helper's first frame stands [`GREETING`]: login scripts may have printed something.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::outcome::Ended;
use crate::process::Task;
use crate::site::{Order, Report};

/// Where the helper's frames begin.
pub const GREETING: &[u8] = b"\0bcl run 1\n";
/// Longest payload: that of [`Begin`] holds a command line and an environment.
const PAYLOAD_MAX: usize = 16 << 20;
/// What may come before the greeting.
const NOISE_MAX: usize = 64 << 10;
const HEAD_LEN: usize = 9;

/// Who the helper is.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub version: String,
    pub host: String,
    /// The node number, or why there is none.
    pub node: Result<String, String>,
}

/// What the helper is to start.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    pub task: Task,
    pub ranks: Vec<u32>,
    /// As in [`Pulse::new`].
    pub patience: Duration,
}

/// To the launcher.
#[derive(PartialEq, Eq)]
pub enum Up {
    Hello(Hello),
    Report(Report),
    /// So many bytes of input have been given to rank 0.
    InputTaken(u32),
    Alive,
}

/// To the helper.
#[derive(PartialEq, Eq)]
pub enum Down {
    Begin(Box<Begin>),
    Order(Order),
    /// For rank 0.
    Input(Vec<u8>),
    InputEnd,
    Alive,
}

/// The other end said something that is no frame.
#[derive(Debug, PartialEq, Eq)]
pub struct Nonsense;

mod kind {
    pub const ALIVE: u8 = 0;
    pub const HELLO: u8 = 1;
    pub const OUTPUT: u8 = 2;
    pub const ERROR_OUTPUT: u8 = 3;
    pub const SAID: u8 = 4;
    pub const SAYS_NO_MORE: u8 = 5;
    pub const ENDED: u8 = 6;
    pub const CANNOT_START: u8 = 7;
    pub const INPUT_TAKEN: u8 = 8;
    pub const BEGIN: u8 = 32;
    pub const ANSWER: u8 = 33;
    pub const DISMISS: u8 = 34;
    pub const SIGNAL: u8 = 35;
    pub const INPUT: u8 = 36;
    pub const INPUT_END: u8 = 37;
}

/// One direction's message, as a frame.
pub trait Message: Sized {
    fn to_frame(&self) -> Vec<u8>;
    fn from_frame(kind: u8, rank: u32, payload: Vec<u8>) -> Result<Self, Nonsense>;
}

impl Message for Up {
    fn to_frame(&self) -> Vec<u8> {
        match self {
            Self::Hello(hello) => frame(kind::HELLO, 0, &json(hello)),
            Self::Alive => frame(kind::ALIVE, 0, &[]),
            Self::InputTaken(len_bytes) => frame(kind::INPUT_TAKEN, *len_bytes, &[]),
            Self::Report(report) => match report {
                Report::Output {
                    rank,
                    is_error: false,
                    bytes,
                } => frame(kind::OUTPUT, *rank, bytes),
                Report::Output { rank, bytes, .. } => frame(kind::ERROR_OUTPUT, *rank, bytes),
                Report::Said { rank, bytes } => frame(kind::SAID, *rank, bytes),
                Report::SaysNoMore { rank } => frame(kind::SAYS_NO_MORE, *rank, &[]),
                Report::Ended { rank, pid, how } => frame(kind::ENDED, *rank, &json(&(pid, how))),
                Report::CannotStart { text, status } => {
                    frame(kind::CANNOT_START, u32::from(*status), text.as_bytes())
                }
                Report::Lost { .. } => unreachable!("only the launcher loses a connection"),
            },
        }
    }

    fn from_frame(kind: u8, rank: u32, bytes: Vec<u8>) -> Result<Self, Nonsense> {
        Ok(Self::Report(match kind {
            kind::HELLO => return parsed(&bytes).map(Self::Hello),
            kind::ALIVE => return Ok(Self::Alive),
            kind::INPUT_TAKEN => return Ok(Self::InputTaken(rank)),
            kind::OUTPUT | kind::ERROR_OUTPUT => Report::Output {
                rank,
                is_error: kind == kind::ERROR_OUTPUT,
                bytes,
            },
            kind::SAID => Report::Said { rank, bytes },
            kind::SAYS_NO_MORE => Report::SaysNoMore { rank },
            kind::ENDED => {
                let (pid, how): (u32, Ended) = parsed(&bytes)?;
                Report::Ended { rank, pid, how }
            }
            kind::CANNOT_START => Report::CannotStart {
                text: String::from_utf8_lossy(&bytes).into_owned(),
                status: u8::try_from(rank).map_err(|_| Nonsense)?,
            },
            _ => return Err(Nonsense),
        }))
    }
}

impl Message for Down {
    fn to_frame(&self) -> Vec<u8> {
        match self {
            Self::Begin(begin) => frame(kind::BEGIN, 0, &json(begin)),
            Self::Order(Order::Answer { rank, bytes }) => frame(kind::ANSWER, *rank, bytes),
            Self::Order(Order::Dismiss { rank }) => frame(kind::DISMISS, *rank, &[]),
            Self::Order(Order::Signal(signal)) => frame(kind::SIGNAL, *signal as u32, &[]),
            Self::Input(bytes) => frame(kind::INPUT, 0, bytes),
            Self::InputEnd => frame(kind::INPUT_END, 0, &[]),
            Self::Alive => frame(kind::ALIVE, 0, &[]),
        }
    }

    fn from_frame(kind: u8, rank: u32, bytes: Vec<u8>) -> Result<Self, Nonsense> {
        Ok(match kind {
            kind::BEGIN => Self::Begin(Box::new(parsed(&bytes)?)),
            kind::ANSWER => Self::Order(Order::Answer { rank, bytes }),
            kind::DISMISS => Self::Order(Order::Dismiss { rank }),
            kind::SIGNAL if (1..=64).contains(&rank) => Self::Order(Order::Signal(rank as i32)),
            kind::INPUT => Self::Input(bytes),
            kind::INPUT_END => Self::InputEnd,
            kind::ALIVE => Self::Alive,
            _ => return Err(Nonsense),
        })
    }
}

fn frame(kind: u8, rank: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD_LEN + payload.len());
    frame.push(kind);
    frame.extend_from_slice(&rank.to_le_bytes());
    frame.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    frame.extend_from_slice(payload);
    frame
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain structures become JSON")
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Nonsense> {
    serde_json::from_slice(bytes).map_err(|_| Nonsense)
}

/// Bytes that have come, until they are whole frames.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    is_greeted: bool,
}

impl Inbox {
    /// For the helper: its launcher greets nobody.
    pub fn greeted() -> Self {
        Self {
            bytes: Vec::new(),
            is_greeted: true,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// All messages that have come whole.
    pub fn take<M: Message>(&mut self) -> Result<Vec<M>, Nonsense> {
        let mut messages = Vec::new();
        if !self.is_greeted && !self.skip_greeting()? {
            return Ok(messages);
        }
        let mut rest = &self.bytes[..];
        while let Some((head, behind)) = rest.split_first_chunk::<HEAD_LEN>() {
            let [kind, r0, r1, r2, r3, l0, l1, l2, l3] = *head;
            let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
            if len > PAYLOAD_MAX {
                return Err(Nonsense);
            }
            let Some((payload, behind)) = behind.split_at_checked(len) else {
                break;
            };
            let rank = u32::from_le_bytes([r0, r1, r2, r3]);
            messages.push(M::from_frame(kind, rank, payload.to_vec())?);
            rest = behind;
        }
        let taken = self.bytes.len() - rest.len();
        self.bytes.drain(..taken);
        Ok(messages)
    }

    fn skip_greeting(&mut self) -> Result<bool, Nonsense> {
        let mut windows = self.bytes.windows(GREETING.len());
        match windows.position(|window| window == GREETING) {
            Some(start) => {
                self.bytes.drain(..start + GREETING.len());
                self.is_greeted = true;
            }
            None if self.bytes.len() > NOISE_MAX => return Err(Nonsense),
            None => {}
        }
        Ok(self.is_greeted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up() -> Vec<Up> {
        let how = Ended::Killed {
            signal: 9,
            has_dumped_core: false,
        };
        vec![
            Up::Hello(Hello {
                version: "1".into(),
                host: "left".into(),
                node: Err("none".into()),
            }),
            Up::Report(Report::Output {
                rank: 7,
                is_error: true,
                bytes: b"words".to_vec(),
            }),
            Up::Report(Report::Said {
                rank: 1,
                bytes: vec![0; 300],
            }),
            Up::Report(Report::SaysNoMore { rank: 1 }),
            Up::Report(Report::Ended {
                rank: 2,
                pid: 77,
                how,
            }),
            Up::Report(Report::CannotStart {
                text: "no".into(),
                status: 127,
            }),
            Up::InputTaken(12),
            Up::Alive,
        ]
    }

    fn down() -> Vec<Down> {
        let task = Task {
            program: vec!["a b".into()],
            size: 2,
            key: "00".into(),
            environment: vec![("A".into(), "1".into())],
            folder: Some("/tmp".into()),
            is_bound: true,
        };
        vec![
            Down::Begin(Box::new(Begin {
                task,
                ranks: vec![0, 1],
                patience: Duration::from_secs(1),
            })),
            Down::Order(Order::Answer {
                rank: 3,
                bytes: b"all".to_vec(),
            }),
            Down::Order(Order::Dismiss { rank: 3 }),
            Down::Order(Order::Signal(15)),
            Down::Input(b"in".to_vec()),
            Down::InputEnd,
            Down::Alive,
        ]
    }

    fn survives<M: Message + PartialEq>(messages: &[M], mut inbox: Inbox) {
        let mut wire = match inbox.is_greeted {
            true => Vec::new(),
            false => [b"Welcome to left!\n", GREETING].concat(),
        };
        wire.extend(messages.iter().flat_map(Message::to_frame));
        let mut taken: Vec<M> = Vec::new();
        for byte in wire {
            inbox.push(&[byte]);
            taken.extend(inbox.take().unwrap());
        }
        assert!(taken == messages);
    }

    #[test]
    fn messages_survive_the_way_byte_by_byte() {
        survives(&up(), Inbox::default());
        survives(&down(), Inbox::greeted());
    }

    #[test]
    fn what_is_no_frame_is_nonsense() {
        let mut inbox = Inbox::greeted();
        inbox.push(&[9; 100]);
        assert!(inbox.take::<Up>().is_err());
        let mut inbox = Inbox::greeted();
        inbox.push(&frame(kind::SIGNAL, 65, &[]));
        assert!(inbox.take::<Down>().is_err());
        let mut inbox = Inbox::default();
        inbox.push(&vec![b'x'; NOISE_MAX + 1]);
        assert!(inbox.take::<Up>().is_err());
    }
}
