//! What domains of ours do not have.

use std::ffi::{c_int, c_void};

use crate::abi::*;
use crate::call::{self, Failure};

fn absent(call: &str, why: &str) -> c_int {
    call::status(call, || Err(Failure::unsupported(why)))
}

const ONE_CONTEXT: &str = "an endpoint of BCL has one context for sending and one for receiving, both its own: use fi_endpoint";

pub(super) unsafe extern "C" fn no_scalable_ep(
    _: *mut fid_domain,
    _: *mut fi_info,
    _: *mut *mut fid_ep,
    _: *mut c_void,
) -> c_int {
    absent("fi_scalable_ep", ONE_CONTEXT)
}

pub(super) unsafe extern "C" fn no_stx_ctx(
    _: *mut fid_domain,
    _: *mut fi_tx_attr,
    _: *mut *mut c_void,
    _: *mut c_void,
) -> c_int {
    absent("fi_stx_context", ONE_CONTEXT)
}

pub(super) unsafe extern "C" fn no_srx_ctx(
    _: *mut fid_domain,
    _: *mut fi_rx_attr,
    _: *mut *mut fid_ep,
    _: *mut c_void,
) -> c_int {
    absent("fi_srx_context", ONE_CONTEXT)
}

pub(super) unsafe extern "C" fn no_poll_open(
    _: *mut fid_domain,
    _: *mut c_void,
    _: *mut *mut c_void,
) -> c_int {
    absent(
        "fi_poll_open",
        "there are no poll sets: read the queues themselves",
    )
}

pub(super) unsafe extern "C" fn no_query_collective(
    _: *mut fid_domain,
    _: u32,
    _: *mut c_void,
    _: u64,
) -> c_int {
    -FI_ENOSYS
}
