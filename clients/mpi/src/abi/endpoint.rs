//! `rdma/fi_endpoint.h`: endpoints and their options.

use std::ffi::{c_int, c_void};

use super::{
    fi_ops_atomic, fi_ops_cm, fi_ops_msg, fi_ops_rma, fi_ops_tagged, fi_rx_attr, fi_tx_attr, fid,
};

structures! {
    fid_ep {
        fid: fid,
        ops: *const fi_ops_ep,
        cm: *const fi_ops_cm,
        msg: *const fi_ops_msg,
        rma: *const fi_ops_rma,
        tagged: *const fi_ops_tagged,
        atomic: *const fi_ops_atomic,
        collective: *const c_void,
    }
    fi_ops_ep {
        size: usize,
        cancel: call!((*mut fid, *mut c_void) -> isize),
        getopt: call!((*mut fid, c_int, c_int, *mut c_void, *mut usize) -> c_int),
        setopt: call!((*mut fid, c_int, c_int, *const c_void, usize) -> c_int),
        tx_ctx: call!((*mut fid_ep, c_int, *mut fi_tx_attr, *mut *mut fid_ep, *mut c_void) -> c_int),
        rx_ctx: call!((*mut fid_ep, c_int, *mut fi_rx_attr, *mut *mut fid_ep, *mut c_void) -> c_int),
        rx_size_left: call!((*mut fid_ep) -> isize),
        tx_size_left: call!((*mut fid_ep) -> isize),
    }
}

constants! {
    i32 {
        FI_OPT_ENDPOINT = 0,
        FI_OPT_MIN_MULTI_RECV = 0,
    }
}
