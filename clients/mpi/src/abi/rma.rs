//! `rdma/fi_rma.h`: one-sided access.

use std::ffi::c_void;

use super::{fid_ep, iovec};

structures! {
    fi_rma_iov {
        addr: u64,
        len: usize,
        key: u64,
    }
    fi_msg_rma {
        msg_iov: *const iovec,
        desc: *mut *mut c_void,
        iov_count: usize,
        addr: u64,
        rma_iov: *const fi_rma_iov,
        rma_iov_count: usize,
        context: *mut c_void,
        data: u64,
    }
    fi_ops_rma {
        size: usize,
        read: call!((*mut fid_ep, *mut c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize),
        readv: call!((*mut fid_ep, *const iovec, *mut *mut c_void, usize, u64, u64, u64, *mut c_void) -> isize),
        readmsg: call!((*mut fid_ep, *const fi_msg_rma, u64) -> isize),
        write: call!((*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize),
        writev: call!((*mut fid_ep, *const iovec, *mut *mut c_void, usize, u64, u64, u64, *mut c_void) -> isize),
        writemsg: call!((*mut fid_ep, *const fi_msg_rma, u64) -> isize),
        inject: call!((*mut fid_ep, *const c_void, usize, u64, u64, u64) -> isize),
        writedata: call!((*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, u64, u64, *mut c_void) -> isize),
        injectdata: call!((*mut fid_ep, *const c_void, usize, u64, u64, u64, u64) -> isize),
    }
}
