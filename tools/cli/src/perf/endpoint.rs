//! One of the two processes: its port, its partner, and how it waits.

use std::time::{Duration, Instant};

use bcl::{Address, Device, Event, Port, QUIET, SystemMessage, Which};

use super::unexpected;
use crate::failure::{Failure, Result};

/// Words between the two processes, on the system channel. No message of a measurement is one byte long and
/// outside the count of a run, so that they cannot be mistaken for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Word {
    /// I am there.
    Hello = b'h',
    /// My buffers are posted, or my window is bound: begin.
    Ready = b'r',
    /// I have received everything, or done everything.
    Done = b'd',
    /// Do now what you are to do meanwhile.
    Go = b'g',
}

/// One end of a measurement.
#[derive(Debug)]
pub struct Endpoint {
    pub port: Port,
    pub peer: Address,
    /// Poll without ever giving up the core, or wait adaptively.
    pub polling: bool,
    /// What moves its messages, once that is known.
    pub device: Option<Device>,
    /// How long messages are copied, and why so.
    pub copy: String,
    early: Option<SystemMessage>,
}

impl Endpoint {
    pub fn new(port: Port, peer: Address, polling: bool) -> Self {
        Self {
            port,
            peer,
            polling,
            device: None,
            copy: String::new(),
            early: None,
        }
    }

    /// The next event that is about the measurement. No system call if this end polls.
    #[inline]
    pub fn next(&mut self, which: Which) -> Result<Event> {
        loop {
            let event = match self.polling {
                true => self.port.poll(which)?,
                false => self.port.wait(which, None)?,
            };
            if let Some(event) = of_measurement(event)? {
                return Ok(event);
            }
        }
    }

    /// Says a word.
    pub fn say(&mut self, word: Word) -> Result<()> {
        Ok(self.port.send_system(self.peer, &[word as u8], QUIET)?)
    }

    /// Waits for a word.
    pub fn hear(&mut self, word: Word) -> Result<()> {
        let event = match self.early.take() {
            Some(message) => Event::Message(message),
            None => self.next(Which::Recv)?,
        };
        match event {
            Event::Message(message) if self.port.data(&message) == [word as u8] => {
                Ok(self.port.release(message)?)
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Keeps a word that came while something else was waited for.
    pub fn set_aside(&mut self, message: SystemMessage) {
        self.early = Some(message);
    }

    /// Waits until the partner is gone: what it still has to take lies in memory that both hold.
    pub fn wait_until_alone(&mut self) -> Result<()> {
        while !matches!(
            self.port.wait(Which::Recv, None)?,
            Some(Event::PeerGone { .. })
        ) {}
        Ok(())
    }

    /// Waits for a word between computations of so long.
    pub fn hear_between(&mut self, word: Word, computation: Duration) -> Result<()> {
        loop {
            let begin = Instant::now();
            while begin.elapsed() < computation {
                std::hint::spin_loop();
            }
            let event = self.port.poll(Which::Recv)?;
            match of_measurement(event)? {
                None => {}
                Some(Event::Message(message)) => {
                    self.set_aside(message);
                    return self.hear(word);
                }
                Some(other) => return Err(unexpected(&other)),
            }
        }
    }

    /// Waits for a word without keeping the core: for a partner whose part is to do nothing.
    pub fn hear_asleep(&mut self, word: Word) -> Result<()> {
        let polling = std::mem::replace(&mut self.polling, false);
        let heard = self.hear(word);
        self.polling = polling;
        heard
    }
}

/// Leaves out news of connections.
#[inline]
fn of_measurement(event: Option<Event>) -> Result<Option<Event>> {
    match event {
        None | Some(Event::PeerUp { .. }) => Ok(None),
        Some(Event::PeerGone { cause, .. }) => Err(Failure::new(format!(
            "the partner process is gone: {cause}"
        ))),
        event => Ok(event),
    }
}
