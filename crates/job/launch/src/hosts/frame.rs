//! What travels between the launcher and its helper on another host, over the streams of a remote shell.
//!
//! A frame is its kind (one byte), a number, mostly that of a process, and the length of its payload (32 bits each, little-endian), and the
//! payload. Before the helper's first frame stands [`GREETING`]: login scripts may have printed something.

use std::time::Duration;

use bcl::job::NotStarted;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::outcome::Ended;
use crate::process::Setting;
use crate::site::{Order, Report};

/// Where the helper's frames begin.
pub const GREETING: &[u8] = b"\0bcl run 1\n";
/// Longest payload: that of a start holds a command line and an environment.
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

/// What the helper has to know before it starts anything.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    pub setting: Setting,
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
    /// There is nothing more to start.
    End,
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
    pub const STARTED: u8 = 7;
    pub const NOT_STARTED: u8 = 8;
    pub const INPUT_TAKEN: u8 = 9;
    pub const BEGIN: u8 = 32;
    pub const ANSWER: u8 = 33;
    pub const DISMISS: u8 = 34;
    pub const SIGNAL: u8 = 35;
    pub const INPUT: u8 = 36;
    pub const INPUT_END: u8 = 37;
    pub const START: u8 = 38;
    pub const END: u8 = 39;
}

/// One direction's message, as a frame.
pub trait Message: Sized {
    fn to_frame(&self) -> Vec<u8>;
    fn from_frame(kind: u8, process: u32, payload: Vec<u8>) -> Result<Self, Nonsense>;
}

impl Message for Up {
    fn to_frame(&self) -> Vec<u8> {
        match self {
            Self::Hello(hello) => frame(kind::HELLO, 0, &json(hello)),
            Self::Alive => frame(kind::ALIVE, 0, &[]),
            Self::InputTaken(len_bytes) => frame(kind::INPUT_TAKEN, *len_bytes, &[]),
            Self::Report(report) => match report {
                Report::Output {
                    process,
                    is_error: false,
                    bytes,
                } => frame(kind::OUTPUT, *process, bytes),
                Report::Output { process, bytes, .. } => frame(kind::ERROR_OUTPUT, *process, bytes),
                Report::Said { process, bytes } => frame(kind::SAID, *process, bytes),
                Report::SaysNoMore { process } => frame(kind::SAYS_NO_MORE, *process, &[]),
                Report::Ended { process, pid, how } => {
                    frame(kind::ENDED, *process, &json(&(pid, how)))
                }
                Report::Started { process, pid } => frame(kind::STARTED, *process, &json(pid)),
                Report::NotStarted { process, why } => frame(
                    kind::NOT_STARTED,
                    *process,
                    &json(&(why.status, &why.reason)),
                ),
                Report::Lost { .. } => unreachable!("only the launcher loses a connection"),
            },
        }
    }

    fn from_frame(kind: u8, process: u32, bytes: Vec<u8>) -> Result<Self, Nonsense> {
        Ok(Self::Report(match kind {
            kind::HELLO => return parsed(&bytes).map(Self::Hello),
            kind::ALIVE => return Ok(Self::Alive),
            kind::INPUT_TAKEN => return Ok(Self::InputTaken(process)),
            kind::OUTPUT | kind::ERROR_OUTPUT => Report::Output {
                process,
                is_error: kind == kind::ERROR_OUTPUT,
                bytes,
            },
            kind::SAID => Report::Said { process, bytes },
            kind::SAYS_NO_MORE => Report::SaysNoMore { process },
            kind::ENDED => {
                let (pid, how): (u32, Ended) = parsed(&bytes)?;
                Report::Ended { process, pid, how }
            }
            kind::STARTED => Report::Started {
                process,
                pid: parsed(&bytes)?,
            },
            kind::NOT_STARTED => {
                let (status, reason) = parsed(&bytes)?;
                let why = NotStarted { status, reason };
                Report::NotStarted { process, why }
            }
            _ => return Err(Nonsense),
        }))
    }
}

impl Message for Down {
    fn to_frame(&self) -> Vec<u8> {
        match self {
            Self::Begin(begin) => frame(kind::BEGIN, 0, &json(begin)),
            Self::Order(Order::Answer { process, bytes }) => frame(kind::ANSWER, *process, bytes),
            Self::Order(Order::Dismiss { process }) => frame(kind::DISMISS, *process, &[]),
            Self::Order(Order::Signal(signal)) => frame(kind::SIGNAL, *signal as u32, &[]),
            Self::Input(bytes) => frame(kind::INPUT, 0, bytes),
            Self::Order(Order::Start(start)) => frame(kind::START, 0, &json(start)),
            Self::InputEnd => frame(kind::INPUT_END, 0, &[]),
            Self::End => frame(kind::END, 0, &[]),
            Self::Alive => frame(kind::ALIVE, 0, &[]),
        }
    }

    fn from_frame(kind: u8, process: u32, bytes: Vec<u8>) -> Result<Self, Nonsense> {
        Ok(match kind {
            kind::BEGIN => Self::Begin(Box::new(parsed(&bytes)?)),
            kind::ANSWER => Self::Order(Order::Answer { process, bytes }),
            kind::DISMISS => Self::Order(Order::Dismiss { process }),
            kind::SIGNAL if (1..=64).contains(&process) => {
                Self::Order(Order::Signal(process as i32))
            }
            kind::INPUT => Self::Input(bytes),
            kind::INPUT_END => Self::InputEnd,
            kind::START => Self::Order(Order::Start(parsed(&bytes)?)),
            kind::END => Self::End,
            kind::ALIVE => Self::Alive,
            _ => return Err(Nonsense),
        })
    }
}

fn frame(kind: u8, number: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD_LEN + payload.len());
    frame.push(kind);
    frame.extend_from_slice(&number.to_le_bytes());
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
            let [kind, n0, n1, n2, n3, l0, l1, l2, l3] = *head;
            let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
            if len > PAYLOAD_MAX {
                return Err(Nonsense);
            }
            let Some((payload, behind)) = behind.split_at_checked(len) else {
                break;
            };
            let number = u32::from_le_bytes([n0, n1, n2, n3]);
            messages.push(M::from_frame(kind, number, payload.to_vec())?);
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
    use crate::process::Start;

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
                process: 7,
                is_error: true,
                bytes: b"words".to_vec(),
            }),
            Up::Report(Report::Said {
                process: 1,
                bytes: vec![0; 300],
            }),
            Up::Report(Report::SaysNoMore { process: 1 }),
            Up::Report(Report::Ended {
                process: 2,
                pid: 77,
                how,
            }),
            Up::Report(Report::Started { process: 3, pid: 8 }),
            Up::Report(Report::NotStarted {
                process: 4,
                why: crate::roster::not_started(127, "no"),
            }),
            Up::InputTaken(12),
            Up::Alive,
        ]
    }

    fn down() -> Vec<Down> {
        let environment = vec![("A".into(), "1".into())];
        let setting = Setting {
            key: "00".into(),
            environment: environment.clone(),
            folder: Some("/tmp".into()),
            is_bound: true,
        };
        vec![
            Down::Begin(Box::new(Begin {
                setting,
                patience: Duration::from_secs(1),
            })),
            Down::Order(Order::Start(Box::new(Start {
                command: vec!["a b".into()],
                environment,
                group: 1,
                size: 3,
                first: 4,
                ranks: vec![0, 2],
            }))),
            Down::Order(Order::Answer {
                process: 3,
                bytes: b"all".to_vec(),
            }),
            Down::Order(Order::Dismiss { process: 3 }),
            Down::Order(Order::Signal(15)),
            Down::Input(b"in".to_vec()),
            Down::InputEnd,
            Down::End,
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
