//! One-sided operations, at the end whose memory it is: it prepares, sleeps, and checks what it finds.

use bcl::{Access, Buffer};

use super::arguments::{Buffers, Operation, RmaOptions, Window};
use super::endpoint::{Endpoint, Word};
use super::normal::buffer;
use super::payload::{self, Check};
use super::rma::{GET_NUMBER, WINDOW, plan, rounds, steps};
use crate::failure::{Failure, Result};

/// The partner's part.
pub fn assist(rma: &RmaOptions, end: &mut Endpoint) -> Result<()> {
    let access = Access::GET | Access::PUT | Access::ATOMIC;
    for (operation, size) in steps(rma) {
        end.port
            .bind(WINDOW, memory(rma, operation, size)?, access)?;
        end.say(Word::Ready)?;
        end.hear_asleep(Word::Done)?;
        let found = end.port.unbind(WINDOW)?;
        check(operation, found.as_slice(), rounds(plan(rma, size)))?;
    }
    Ok(())
}

fn memory(rma: &RmaOptions, operation: Operation, size: usize) -> Result<Buffer> {
    let kind = match rma.window {
        Window::Dma => Buffers::Dma,
        Window::Normal => Buffers::Normal,
    };
    let mut memory = buffer(kind, size)?;
    match operation {
        Operation::Put | Operation::Get => {
            payload::write(memory.as_mut_slice(), GET_NUMBER, Check::All);
        }
        Operation::FetchAdd | Operation::CompareSwap => memory.as_mut_slice().fill(0),
    }
    Ok(memory)
}

/// The last operation left its number: a put in every byte, an atomic as the sum of all.
fn check(operation: Operation, found: &[u8], rounds: u64) -> Result<()> {
    match operation {
        Operation::Put => payload::verify(found, found.len(), rounds - 1, Check::All),
        Operation::Get => Ok(()),
        Operation::FetchAdd | Operation::CompareSwap if *found == rounds.to_le_bytes() => Ok(()),
        Operation::FetchAdd | Operation::CompareSwap => Err(Failure::new(format!(
            "{rounds} atomics left {found:?}; this is a bug in BCL, please report it"
        ))),
    }
}
