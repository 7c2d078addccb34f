//! One-sided operations, at the end whose memory it is: it prepares, does what it is to do meanwhile, and checks what it finds.

use std::time::Duration;

use bcl::{Access, Buffer};
use rustix::process::{Signal, getpid, kill_process, set_parent_process_death_signal};

use super::arguments::{Buffers, Operation, RmaOptions, Target, Window};
use super::endpoint::{Endpoint, Word};
use super::normal::buffer;
use super::payload::{self, Check};
use super::rma::{GET_NUMBER, WINDOW, plan, rounds, steps};
use crate::failure::{Failure, Result};

/// A process that computes looks after so long.
const COMPUTES_FOR: Duration = Duration::from_millis(50);

/// The partner's part.
pub fn assist(rma: &RmaOptions, end: &mut Endpoint) -> Result<()> {
    let access = Access::GET | Access::PUT | Access::ATOMIC;
    for (operation, size) in steps(rma) {
        end.port
            .bind(WINDOW, memory(rma, operation, size)?, access)?;
        end.say(Word::Ready)?;
        end.hear_asleep(Word::Go)?;
        wait(rma.target, end)?;
        let found = end.port.unbind(WINDOW)?;
        check(operation, found.as_slice(), rounds(plan(rma, size)))?;
    }
    Ok(())
}

/// Until all is done.
fn wait(target: Target, end: &mut Endpoint) -> Result<()> {
    match target {
        Target::Sleeping => {}
        Target::Polling => return end.hear(Word::Done),
        Target::Computing => return end.hear_between(Word::Done, COMPUTES_FOR),
        Target::Stopped => {
            stop().map_err(|errno| Failure::system("stop this process", errno))?;
        }
    }
    end.hear_asleep(Word::Done)
}

/// Stops this process until the measuring one lets it go on. If that is killed, so is this one: it would hear of nothing else.
fn stop() -> rustix::io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    kill_process(getpid(), Signal::STOP)?;
    set_parent_process_death_signal(Some(Signal::TERM))
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
