//! `rdma/fi_atomic.h`: atomic operations on others' memory; and, of `rdma/fi_domain.h`, what they do with which types.

use std::ffi::{c_int, c_void};

use super::fid_ep;

constants! {
    u32 {
        FI_INT8 = 0,
        FI_UINT8 = 1,
        FI_INT16 = 2,
        FI_UINT16 = 3,
        FI_INT32 = 4,
        FI_UINT32 = 5,
        FI_INT64 = 6,
        FI_UINT64 = 7,
        FI_FLOAT = 8,
        FI_DOUBLE = 9,
        FI_FLOAT_COMPLEX = 10,
        FI_DOUBLE_COMPLEX = 11,
        FI_INT128 = 14,
        FI_UINT128 = 15,
        FI_MIN = 0,
        FI_MAX = 1,
        FI_SUM = 2,
        FI_PROD = 3,
        FI_LOR = 4,
        FI_LAND = 5,
        FI_BOR = 6,
        FI_BAND = 7,
        FI_LXOR = 8,
        FI_BXOR = 9,
        FI_ATOMIC_READ = 10,
        FI_ATOMIC_WRITE = 11,
        FI_CSWAP = 12,
        FI_CSWAP_NE = 13,
        FI_CSWAP_LE = 14,
        FI_CSWAP_LT = 15,
        FI_CSWAP_GE = 16,
        FI_CSWAP_GT = 17,
        FI_MSWAP = 18,
    }
    u64 {
        FI_FETCH_ATOMIC = 1 << 58,
        FI_COMPARE_ATOMIC = 1 << 59,
    }
}

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
