//! `fi_getinfo`: what a program asks for, and what it gets.
//!
//! - [`hints`]: what it has said, as plain values;
//! - [`ends`]: whom it wants to reach, and who it is;
//! - [`offer`], `attributes` and `wish`: what it gets, or why not: a pure function;
//! - [`limits`]: how much we have of everything;
//! - [`emit`]: the offer as the host's `fi_info`.

mod attributes;
pub mod emit;
pub mod ends;
pub mod hints;
pub mod limits;
pub mod offer;
#[cfg(test)]
mod tests;
mod wish;

use std::ffi::{c_char, c_int};

use crate::abi::{FI_ENODATA, fi_info};
use crate::call::{self, Failure};
use crate::host::Host;
use crate::log::{self, Level};
use crate::object::text;
use crate::settings::Settings;

use ends::{Ends, Wanted};
use hints::Hints;

/// Flags by which providers that are layers on top of others ask those: not for us, who have nothing on top.
const LAYERS: u64 = 1 << 58 | 1 << 59;

/// `fi_getinfo`
///
/// # Safety
/// As libfabric calls it.
pub unsafe extern "C" fn getinfo(
    version: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const fi_info,
    info: *mut *mut fi_info,
) -> c_int {
    if flags & LAYERS != 0 {
        log::say(
            Level::Info,
            "fi_getinfo: BCL is nothing to put a layer on, so a layer that asks gets nothing",
        );
        return -FI_ENODATA;
    }
    call::status("fi_getinfo", || {
        // What is set wrongly is said before anything is opened, and to each who asks.
        Settings::from_env()?;
        let host =
            Host::get().ok_or_else(|| Failure::unsupported("nobody has called fi_prov_ini"))?;
        // SAFETY: null, or a structure of the host's version, and strings, by the contract.
        let (hints, node, service) = unsafe { (Hints::read(hints), text(node), text(service)) };
        let wanted = Wanted {
            node: node.as_deref(),
            service: service.as_deref(),
            flags,
            hints: hints.as_ref(),
        };
        let refused = |why| {
            Failure::new(
                FI_ENODATA,
                format!("provider bcl does not answer this: {why}"),
            )
        };
        let ends = Ends::find(&wanted).map_err(refused)?;
        let offer = offer::offer(version, hints.as_ref(), ends).map_err(refused)?;
        // SAFETY: a place for the answer, by the contract.
        unsafe { info.write(emit::emit(host, &offer)?) };
        Ok(())
    })
}
