//! `rdma/fi_cm.h`: names of endpoints; connections, which endpoints of ours do not have.

use std::ffi::{c_int, c_void};

use super::{fid, fid_ep};

structures! {
    fi_ops_cm {
        size: usize,
        setname: call!((*mut fid, *mut c_void, usize) -> c_int),
        getname: call!((*mut fid, *mut c_void, *mut usize) -> c_int),
        getpeer: call!((*mut fid_ep, *mut c_void, *mut usize) -> c_int),
        connect: call!((*mut fid_ep, *const c_void, *const c_void, usize) -> c_int),
        listen: call!((*mut c_void) -> c_int),
        accept: call!((*mut fid_ep, *const c_void, usize) -> c_int),
        reject: call!((*mut c_void, *mut fid, *const c_void, usize) -> c_int),
        shutdown: call!((*mut fid_ep, u64) -> c_int),
        join: call!((*mut fid_ep, *const c_void, u64, *mut *mut c_void, *mut c_void) -> c_int),
    }
}
