//! Reaching into others' memory, for reads, writes and atomic operations.

use std::ffi::c_void;

use bcl_adi::{Error, OneSided, What};

use super::Ep;
use super::data::{FETCHES, WANTED};
use super::refused::failure;
use crate::abi::*;
use crate::call::{self, Failure};
use crate::getinfo::limits::LONG_INJECT_SIZE;
use crate::object::of;
use crate::progress::Driver;

/// What a call wants to do.
pub(super) struct Reaching {
    pub to: u64,
    pub key: u64,
    pub address: u64,
    pub what: What,
    pub context: *mut c_void,
    /// Of the call; the endpoint's own, if it has none.
    pub flags: Option<u64>,
    /// No completion, and the memory is free when the call returns.
    pub injects: bool,
}

/// Runs a call that reaches.
///
/// # Safety
/// The pointer is to an endpoint of ours; the memory can be read, or written, for as long as libfabric has it.
#[inline]
pub(super) unsafe fn reach(
    name: &str,
    ep: *mut fid_ep,
    reaching: impl FnOnce() -> Result<Reaching, Failure>,
) -> isize {
    call::number(name, || {
        // SAFETY: by the contract.
        let ep: &Ep = unsafe { of(ep) };
        let data = ep.data()?;
        let reaching = reaching()?;
        let flags = reaching.flags.unwrap_or(ep.tx_flags);
        let injects = reaching.injects || flags & FI_INJECT != 0;
        if injects {
            check_injected(&reaching.what)?;
        }
        let (mark, tally) = match &reaching.what {
            What::Put { .. } => (0, &data.writes),
            What::Get { .. } => (0, &data.reads),
            What::Atomic { found, .. } => {
                let mark = if found.is_some() { FETCHES } else { 0 };
                (mark, data.tally_of_atomics(mark))
            }
        };
        let is_wanted = !reaching.injects
            && (!data.sends.is_selective || flags & FI_COMPLETION != 0)
            && data.sends.sink.is_some();
        let asked = OneSided {
            to: data.addresses.get(reaching.to)?,
            key: reaching.key,
            address: reaching.address,
            what: reaching.what,
            context: reaching.context as u64,
            mark: mark | if is_wanted { WANTED } else { 0 },
            quiet: !is_wanted && tally.is_none(),
            injects,
        };
        // SAFETY: by the contract.
        let begun = data
            .port
            .with(|endpoint| unsafe { endpoint.one_sided(asked) });
        match begun {
            Ok(()) => Ok(0),
            Err(Error::Again { .. }) => {
                data.drive();
                Ok(-FI_EAGAIN as isize)
            }
            Err(error) => Err(failure(&error)),
        }
    })
}

/// What is as short as this has been read when the call returns.
fn check_injected(what: &What) -> Result<(), Failure> {
    let len_bytes = match what {
        What::Put { memory, .. } => memory.len_bytes(),
        What::Atomic { operands, .. } => operands.len_bytes(),
        What::Get { .. } => 0,
    };
    if len_bytes > LONG_INJECT_SIZE {
        return Err(Failure::invalid(format!(
            "{len_bytes} bytes to be written before the call returns: that can be at most {LONG_INJECT_SIZE}"
        )));
    }
    Ok(())
}
