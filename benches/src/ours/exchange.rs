//! A number handed to and fro by operations on the other's memory, compared with the same done by plain
//! loads and stores on a cache line.
//!
//! With put and fetch-and-add each changes the other's word and watches its own; with get each changes
//! its own and watches the other's.

use bcl::{Access, Address, DmaBuffer, Event, Which};

use crate::batches::{self, try_one_way_us};
use crate::error::{Error, Result};
use crate::ours::player::{Player, unexpected};
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
    let mut hands = Hands::new(player, operation);
    for _ in 0..round_trips / 10 + 1 {
        hands.turn()?;
    }
    if hands.player.rank == 0 {
        return try_one_way_us(round_trips, || hands.turn());
    }
    for _ in 0..batches::whole(round_trips) {
        hands.turn()?;
    }
    Ok(0.0)
}

struct Hands<'a> {
    partner: Address,
    player: &'a mut Player,
    operation: Operation,
    /// What goes to and fro.
    number: u64,
    /// Memory for put and get, while they do not have it.
    word: Vec<u8>,
}

impl<'a> Hands<'a> {
    fn new(player: &'a mut Player, operation: Operation) -> Self {
        Self {
            partner: player.address_of(1 - player.rank),
            player,
            operation,
            number: 0,
            word: vec![0; WORD_BYTES],
        }
    }

    /// Rank 0 gives the next number and takes it back, rank 1 takes and gives.
    fn turn(&mut self) -> Result<()> {
        self.number += 1;
        if self.player.rank == 0 {
            self.give()?;
            self.take()
        } else {
            self.take()?;
            self.give()
        }
    }

    fn give(&mut self) -> Result<()> {
        let port = &mut self.player.port;
        let (partner, offset) = (self.partner, OFFSET as u64);
        match self.operation {
            Operation::Get => {
                return Ok(port.window(WINDOW)?.store_u64(OFFSET, self.number)?);
            }
            Operation::Put => {
                let mut word = std::mem::take(&mut self.word);
                word.copy_from_slice(&self.number.to_ne_bytes());
                port.put(partner, WINDOW, offset, word, 0)?;
                self.finish()?;
            }
            Operation::FetchAdd => {
                port.fetch_add(partner, WINDOW, offset, 1, 0)?;
                let found = self.finish()?;
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

    fn take(&mut self) -> Result<()> {
        while self.look()? != self.number {}
        Ok(())
    }

    fn look(&mut self) -> Result<u64> {
        let port = &mut self.player.port;
        if self.operation != Operation::Get {
            return Ok(port.window(WINDOW)?.load_u64(OFFSET)?);
        }
        let word = std::mem::take(&mut self.word);
        port.get(self.partner, WINDOW, OFFSET as u64, word, 0)?;
        self.finish()?;
        let mut bytes = [0; WORD_BYTES];
        bytes.copy_from_slice(&self.word);
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Waits for the completion of the operation; what an atomic found.
    fn finish(&mut self) -> Result<u64> {
        match self.player.next(Which::Send)? {
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
