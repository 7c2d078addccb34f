//! `rdma/fi_atomic.h`: atomic operations on others' memory. Data types and operations are plain numbers, for as long as we
//! offer none.

use std::ffi::{c_int, c_void};

use super::fid_ep;

structures! {
    fi_ioc {
        addr: *mut c_void,
        count: usize,
    }
    fi_rma_ioc {
        addr: u64,
        count: usize,
        key: u64,
    }
    fi_atomic_attr {
        count: usize,
        size: usize,
    }
    fi_msg_atomic {
        msg_iov: *const fi_ioc,
        desc: *mut *mut c_void,
        iov_count: usize,
        addr: u64,
        rma_iov: *const fi_rma_ioc,
        rma_iov_count: usize,
        datatype: u32,
        op: u32,
        context: *mut c_void,
        data: u64,
    }
    fi_ops_atomic {
        size: usize,
        write: call!((*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, u64, u32, u32, *mut c_void) -> isize),
        writev: call!((*mut fid_ep, *const fi_ioc, *mut *mut c_void, usize, u64, u64, u64, u32, u32, *mut c_void) -> isize),
        writemsg: call!((*mut fid_ep, *const fi_msg_atomic, u64) -> isize),
        inject: call!((*mut fid_ep, *const c_void, usize, u64, u64, u64, u32, u32) -> isize),
        readwrite: call!((
            *mut fid_ep, *const c_void, usize, *mut c_void, *mut c_void, *mut c_void, u64, u64, u64, u32, u32, *mut c_void
        ) -> isize),
        readwritev: call!((
            *mut fid_ep, *const fi_ioc, *mut *mut c_void, usize, *mut fi_ioc, *mut *mut c_void, usize, u64, u64, u64, u32,
            u32, *mut c_void
        ) -> isize),
        readwritemsg: call!((
            *mut fid_ep, *const fi_msg_atomic, *mut fi_ioc, *mut *mut c_void, usize, u64
        ) -> isize),
        compwrite: call!((
            *mut fid_ep, *const c_void, usize, *mut c_void, *const c_void, *mut c_void, *mut c_void, *mut c_void, u64, u64,
            u64, u32, u32, *mut c_void
        ) -> isize),
        compwritev: call!((
            *mut fid_ep, *const fi_ioc, *mut *mut c_void, usize, *const fi_ioc, *mut *mut c_void, usize, *mut fi_ioc,
            *mut *mut c_void, usize, u64, u64, u64, u32, u32, *mut c_void
        ) -> isize),
        compwritemsg: call!((
            *mut fid_ep, *const fi_msg_atomic, *const fi_ioc, *mut *mut c_void, usize, *mut fi_ioc, *mut *mut c_void, usize,
            u64
        ) -> isize),
        writevalid: call!((*mut fid_ep, u32, u32, *mut usize) -> c_int),
        readwritevalid: call!((*mut fid_ep, u32, u32, *mut usize) -> c_int),
        compwritevalid: call!((*mut fid_ep, u32, u32, *mut usize) -> c_int),
    }
}
