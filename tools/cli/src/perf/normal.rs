//! Messages on a normal channel, through buffers that are used again and again.
//!
//! Messages meet posts in order, but need not be complete in that order: a buffer that the receiver sees for the
//! first time takes longer. So each post carries the number of the message that it will meet.

use bcl::{Buffer, DmaBuffer, EnabledBuffer, Event, OpError, Which};

use super::arguments::Buffers;
use super::endpoint::Endpoint;
use super::payload::{self, Check};
use super::traffic::{Need, Traffic};
use super::unexpected;
use crate::failure::{Failure, Result};

const CHANNEL: u16 = 1;

#[derive(Debug)]
pub struct Normal {
    size: usize,
    /// Buffers to send from that are not under way.
    free: Vec<Buffer>,
    under_way: usize,
    /// Posts ever made, and those that were met.
    posted: u64,
    met: u64,
}

impl Normal {
    pub fn new(end: &mut Endpoint, need: Need, kind: Buffers) -> Result<Self> {
        let make = |_| buffer(kind, need.size);
        let free = (0..need.sends).map(make).collect::<Result<_>>()?;
        let posts = need.posts as u64;
        for number in 0..posts {
            end.port.post(CHANNEL, buffer(kind, need.size)?, number)?;
        }
        Ok(Self {
            size: need.size,
            free,
            under_way: 0,
            posted: posts,
            met: 0,
        })
    }

    fn await_buffer(&mut self, end: &mut Endpoint) -> Result<Buffer> {
        match end.next(Which::Send)? {
            Event::Sent {
                result: Ok(()),
                buffer: Some(buffer),
                ..
            } => {
                self.under_way -= 1;
                Ok(buffer)
            }
            Event::Sent {
                result: Err(error), ..
            } => Err(Failure::new(format!("a message was not sent: {error}"))),
            other => Err(unexpected(&other)),
        }
    }

    fn await_canceled(&mut self, end: &mut Endpoint) -> Result<()> {
        loop {
            match end.next(Which::Recv)? {
                Event::Received {
                    result: Err(OpError::Canceled),
                    ..
                } => return Ok(()),
                // The partner is ahead and speaks of the next size.
                Event::Message(message) => end.set_aside(message),
                other => return Err(unexpected(&other)),
            }
        }
    }
}

impl Traffic for Normal {
    #[inline]
    fn send(&mut self, end: &mut Endpoint, number: u64, check: Check) -> Result<()> {
        let mut buffer = match self.free.pop() {
            Some(buffer) => buffer,
            None => self.await_buffer(end)?,
        };
        payload::write(buffer.as_mut_slice(), number, check);
        end.port.send(end.peer, CHANNEL, buffer, number)?;
        self.under_way += 1;
        Ok(())
    }

    #[inline]
    fn receive(&mut self, end: &mut Endpoint, _: u64, check: Check) -> Result<()> {
        match end.next(Which::Recv)? {
            Event::Received {
                cookie: number,
                result: Ok(()),
                len_bytes,
                buffer: Some(buffer),
                ..
            } => {
                let message = buffer.as_slice().get(..len_bytes as usize);
                payload::verify(message.unwrap_or_default(), self.size, number, check)?;
                end.port.post(CHANNEL, buffer, self.posted)?;
                self.posted += 1;
                self.met += 1;
                Ok(())
            }
            Event::Received {
                result: Err(error), ..
            } => Err(Failure::new(format!("a message did not arrive: {error}"))),
            other => Err(unexpected(&other)),
        }
    }

    fn finish(mut self, end: &mut Endpoint) -> Result<()> {
        while self.under_way > 0 {
            self.await_buffer(end)?;
        }
        for number in self.met..self.posted {
            end.port.cancel_post(CHANNEL, number)?;
            self.await_canceled(end)?;
        }
        Ok(())
    }
}

/// Memory of the kind asked for, all of its pages there.
pub fn buffer(kind: Buffers, size: usize) -> Result<Buffer> {
    Ok(match kind {
        Buffers::Normal => vec![1; size].into(),
        Buffers::Enabled => EnabledBuffer::new(vec![1; size]).into(),
        Buffers::Dma => {
            let mut buffer = DmaBuffer::new(size)?;
            buffer.fill(1);
            buffer.into()
        }
    })
}
