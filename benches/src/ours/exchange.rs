//! A number handed to and fro by operations on the other's memory, compared with the same done by plain
//! loads and stores on a cache line.
//!
//! With put and fetch-and-add each changes the other's word and watches its own; with get each changes
//! its own and watches the other's.

use bcl::{Access, Address, DmaBuffer, Event, Which};

use crate::error::{Error, Result};
use crate::ours::player::{Player, unexpected};
use crate::ours::turns::{self, Game};
use crate::work::Operation;

const WINDOW: u16 = 0;
const OFFSET: usize = 0;
const WINDOW_BYTES: usize = 4096;
const WORD_BYTES: usize = size_of::<u64>();

/// One-way time in us of `operation`, at rank 0.
///
/// # Errors
/// When an operation fails or a number gets lost.
pub fn measure_us(player: &mut Player, operation: Operation, round_trips: usize) -> Result<f64> {
    let memory = DmaBuffer::new(WINDOW_BYTES)?;
    let access = Access::GET | Access::PUT | Access::ATOMIC;
    player.port.bind(WINDOW, memory, access)?;
    player.begin()?;
    let hands = Hands::new(player, operation);
    turns::measure_us(player, hands, round_trips)
}

struct Hands {
    partner: Address,
    operation: Operation,
    /// What goes to and fro.
    number: u64,
    /// Memory for put and get, while they do not have it.
    word: Vec<u8>,
}

impl Game for Hands {
    fn turn(&mut self, player: &mut Player) -> Result<()> {
        self.number += 1;
        if player.rank == 0 {
            self.give(player)?;
            self.take(player)
        } else {
            self.take(player)?;
            self.give(player)
        }
    }
}

impl Hands {
    fn new(player: &Player, operation: Operation) -> Self {
        Self {
            partner: player.address_of(1 - player.rank),
            operation,
            number: 0,
            word: vec![0; WORD_BYTES],
        }
    }

    fn give(&mut self, player: &mut Player) -> Result<()> {
        let port = &mut player.port;
        let (partner, offset) = (self.partner, OFFSET as u64);
        match self.operation {
            Operation::Get => {
                return Ok(port.window(WINDOW)?.store_u64(OFFSET, self.number)?);
            }
            Operation::Put => {
                let mut word = std::mem::take(&mut self.word);
                word.copy_from_slice(&self.number.to_ne_bytes());
                port.put(partner, WINDOW, offset, word, 0)?;
                self.finish(player)?;
            }
            Operation::FetchAdd => {
                port.fetch_add(partner, WINDOW, offset, 1, 0)?;
                let found = self.finish(player)?;
                if found != self.number - 1 {
                    return Err(Error::Unexpected {
                        expected: "the number before",
                        got: found.to_string(),
                    });
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, player: &mut Player) -> Result<()> {
        while self.look(player)? != self.number {}
        Ok(())
    }

    fn look(&mut self, player: &mut Player) -> Result<u64> {
        let port = &mut player.port;
        if self.operation != Operation::Get {
            return Ok(port.window(WINDOW)?.load_u64(OFFSET)?);
        }
        let word = std::mem::take(&mut self.word);
        port.get(self.partner, WINDOW, OFFSET as u64, word, 0)?;
        self.finish(player)?;
        let mut bytes = [0; WORD_BYTES];
        bytes.copy_from_slice(&self.word);
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Waits for the completion of the operation; what an atomic found.
    fn finish(&mut self, player: &mut Player) -> Result<u64> {
        match player.next(Which::Send)? {
            Event::RmaDone {
                result,
                buffer,
                value,
                ..
            } => {
                result?;
                if let Some(buffer) = buffer {
                    self.word = buffer.into_vec();
                }
                Ok(value)
            }
            other => Err(unexpected("the completion of an operation", &other)),
        }
    }
}
