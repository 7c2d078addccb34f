//! Messages on the system channel.

use bcl::{Event, QUIET, Which};

use super::endpoint::Endpoint;
use super::payload::{self, Check};
use super::traffic::Traffic;
use super::unexpected;
use crate::failure::{Failure, Result};

/// A completion is asked for with every so many messages: they come in order, so one stands for all before.
const MARK_EVERY: u64 = 64;
/// Marks under way before the sender waits. It keeps messages in the ring and not in a queue before it.
const MARKS_MAX: u64 = 2;

#[derive(Debug)]
pub struct System {
    bytes: Vec<u8>,
    sent: u64,
    marks: u64,
}

impl System {
    pub fn new(size: usize) -> Self {
        Self {
            bytes: vec![0; size],
            sent: 0,
            marks: 0,
        }
    }

    fn await_mark(&mut self, end: &mut Endpoint) -> Result<()> {
        match end.next(Which::Send)? {
            Event::Sent { result: Ok(()), .. } => {
                self.marks -= 1;
                Ok(())
            }
            Event::Sent {
                result: Err(error), ..
            } => Err(Failure::new(format!("a message was not sent: {error}"))),
            other => Err(unexpected(&other)),
        }
    }
}

impl Traffic for System {
    #[inline]
    fn send(&mut self, end: &mut Endpoint, number: u64, check: Check) -> Result<()> {
        payload::write(&mut self.bytes, number, check);
        self.sent += 1;
        let is_mark = self.sent.is_multiple_of(MARK_EVERY);
        if is_mark {
            if self.marks == MARKS_MAX {
                self.await_mark(end)?;
            }
            self.marks += 1;
        }
        let cookie = if is_mark { number } else { QUIET };
        Ok(end.port.send_system(end.peer, &self.bytes, cookie)?)
    }

    #[inline]
    fn receive(&mut self, end: &mut Endpoint, number: u64, check: Check) -> Result<()> {
        match end.next(Which::Recv)? {
            Event::Message(message) => {
                payload::verify(end.port.data(&message), self.bytes.len(), number, check)?;
                Ok(end.port.release(message)?)
            }
            other => Err(unexpected(&other)),
        }
    }

    fn finish(mut self, end: &mut Endpoint) -> Result<()> {
        while self.marks > 0 {
            self.await_mark(end)?;
        }
        Ok(())
    }
}

/// What would make a queue overflow is a bug in this file: at most `MARK_EVERY * (MARKS_MAX + 1)` messages wait.
const _: () = assert!(MARK_EVERY * (MARKS_MAX + 1) < bcl::QUEUE_DEPTH as u64);
