//! Options of an endpoint, and what one of ours does not have.

use std::ffi::{c_int, c_void};

use super::Ep;
use crate::abi::*;
use crate::call::{self, Failure};
use crate::object::of;

pub(super) unsafe extern "C" fn getopt(
    ep: *mut fid,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut usize,
) -> c_int {
    call::status("fi_getopt", || {
        check(level, name)?;
        // SAFETY: an endpoint of ours, a length and room for so many bytes, by the contract of the caller.
        unsafe {
            if *len < size_of::<usize>() {
                let text = format!("{} bytes for a number of {}", *len, size_of::<usize>());
                return Err(Failure::new(FI_ETOOSMALL, text));
            }
            let least = of::<Ep, _>(ep).min_multi_recv.with(|least| *least);
            value.cast::<usize>().write_unaligned(least);
            *len = size_of::<usize>();
        }
        Ok(())
    })
}

pub(super) unsafe extern "C" fn setopt(
    ep: *mut fid,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: usize,
) -> c_int {
    call::status("fi_setopt", || {
        check(level, name)?;
        if len != size_of::<usize>() {
            return Err(Failure::invalid(format!(
                "an option of {len} bytes: FI_OPT_MIN_MULTI_RECV has {}",
                size_of::<usize>()
            )));
        }
        // SAFETY: an endpoint of ours and so many bytes, by the contract of the caller.
        unsafe {
            let wanted = value.cast::<usize>().read_unaligned();
            of::<Ep, _>(ep).min_multi_recv.with(|least| *least = wanted);
        }
        Ok(())
    })
}

fn check(level: c_int, name: c_int) -> Result<(), Failure> {
    if (level, name) == (FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV) {
        return Ok(());
    }
    let text = format!("there is no option {name} of level {level}");
    Err(Failure::new(libc::ENOPROTOOPT, text))
}

pub(super) unsafe extern "C" fn no_tx_ctx(
    _: *mut fid_ep,
    _: c_int,
    _: *mut fi_tx_attr,
    _: *mut *mut fid_ep,
    _: *mut c_void,
) -> c_int {
    one_context("fi_tx_context")
}

pub(super) unsafe extern "C" fn no_rx_ctx(
    _: *mut fid_ep,
    _: c_int,
    _: *mut fi_rx_attr,
    _: *mut *mut fid_ep,
    _: *mut c_void,
) -> c_int {
    one_context("fi_rx_context")
}

fn one_context(call: &str) -> c_int {
    call::status(call, || {
        Err(Failure::unsupported(
            "an endpoint of BCL has one context for sending and one for receiving, both its own",
        ))
    })
}

/// libfabric has given these up.
pub(super) unsafe extern "C" fn no_size_left(_: *mut fid_ep) -> isize {
    -FI_ENOSYS as isize
}
