//! A request that waits for its answer: what it asks, what it asks for again, and when ([WIRE-11.4] to [WIRE-11.7]).

use bcl_types::Atomic;
use bcl_wire::body::AtomicBody;
use bcl_wire::{Flags, Kind};

use super::reading::Reading;
use crate::connection::packet::{Content, Packet};
use crate::names::{Action, Rma};
use bcl_types::{Span, Time};

/// No answer is waited for longer, however often it was lost ([WIRE-11.5]): a peer that was stopped for a second, or a
/// path that loses every other packet, is no reason to be patient for seconds.
const MAX_PATIENCE: Span = Span::from_ms(250);

/// A request that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Counts the jobs.
    pub job: u64,
    pub operation: u32,
    pub kind: Kind,
    /// Where in the operation's memory; of a put, its last piece.
    pub at: u64,
    /// Of a read, what is still to come; it may be asked for in parts.
    pub len: u32,
    pub reading: Reading,
    pub sequence: u32,
    pub sent_at: Time,
    pub tries: u32,
    /// All of it was sent.
    pub is_complete: bool,
    /// Nothing came at all when it was asked the last time.
    pub was_silent: bool,
    /// What was asked for later has come before.
    pub overtaken_at: Option<Time>,
}

/// How long an answer may take ([WIRE-11.5]).
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// After its request has left.
    pub answer: Span,
    /// The rest of it, after a part.
    pub rest: Span,
    /// After one that was asked for later.
    pub overtaken: Span,
}

impl Asked {
    /// A read goes on with what has not come, under a new number, the next of `operations`, if that is not what it has asked
    /// for before. Whether it is padded ([WIRE-11.7]), and so asks for one packet, if it `can_pad`.
    pub fn go_on(&mut self, limit: u16, can_pad: bool, operations: &mut u32) -> bool {
        let (missing, asked_bytes) = (self.reading.missing(), self.reading.asked_bytes());
        // What comes behind what was asked for is missing as well.
        let end = match asked_bytes < self.len {
            true => self.len,
            false => missing.end,
        };
        self.at += u64::from(missing.start);
        self.len = end - missing.start;
        let pads = can_pad && (self.was_silent || self.len <= limit.into());
        let asks = match pads {
            true => self.len.min(limit.into()),
            false => self.len,
        };
        if missing != (0..asked_bytes) || asks != asked_bytes {
            *operations = operations.wrapping_add(1);
            self.operation = *operations;
        }
        self.reading = Reading::new(asks, limit);
        pads
    }

    /// When it should have been answered: each time it is asked later.
    pub fn due(&self, patience: Patience) -> Time {
        let answer = match self.reading.is_silent() {
            true => patience.answer,
            false => patience.rest,
        };
        let answer = answer.times(1 << self.tries.min(8));
        let due = self.sent_at + answer.min(MAX_PATIENCE);
        let overtaken = self.overtaken_at.map(|at| at + patience.overtaken);
        overtaken.map_or(due, |overtaken| overtaken.min(due))
    }

    /// The packet that asks. A read is padded if it `pads`.
    pub fn packet(&self, rma: &Rma, slot: u8, pads: bool) -> Packet {
        let mut packet = Packet {
            channel: rma.window,
            slot: u16::from(slot),
            message: self.operation,
            offset: rma.offset.wrapping_add(self.at),
            length: match self.kind {
                Kind::Get => self.reading.asked_bytes().into(),
                _ => self.len.into(),
            },
            ..Packet::new(self.kind)
        };
        match rma.action {
            Action::Put { len_bytes } => {
                packet.length = len_bytes;
                if self.at == 0 {
                    packet.flags |= Flags::FIRST;
                }
                if self.is_complete {
                    packet.flags |= Flags::LAST;
                }
                if self.len > 0 {
                    packet.payload = Content::Lent {
                        op: rma.op,
                        at: self.at,
                        len: self.len as u16,
                    };
                }
            }
            Action::Get { .. } if pads => {
                packet.flags |= Flags::PADDED;
                packet.payload = Content::Padding {
                    len: packet.length as u16,
                };
            }
            Action::Get { .. } => {}
            Action::Atomic(atomic) => packet.payload = Content::Words(words(atomic)),
        }
        packet
    }
}

fn words(atomic: Atomic) -> [u64; 3] {
    let body = match atomic {
        Atomic::FetchAdd(value) => AtomicBody::FetchAdd(value),
        Atomic::CompareSwap { expected, new } => AtomicBody::CompareSwap { expected, new },
    };
    let bytes = body.to_bytes();
    let mut words = [0; 3];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = bytes
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    words
}
