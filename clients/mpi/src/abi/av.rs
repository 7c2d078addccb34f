//! `rdma/fi_domain.h`: address vectors.

use std::ffi::{c_char, c_int, c_void};

use super::fid;

structures! {
    fi_av_attr {
        r#type: u32,
        rx_ctx_bits: c_int,
        count: usize,
        ep_per_node: usize,
        name: *const c_char,
        map_addr: *mut c_void,
        flags: u64,
    }
    fid_av {
        fid: fid,
        ops: *const fi_ops_av,
    }
    fi_ops_av {
        size: usize,
        insert: call!((*mut fid_av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int),
        insertsvc: call!((*mut fid_av, *const c_char, *const c_char, *mut u64, u64, *mut c_void) -> c_int),
        insertsym: call!((*mut fid_av, *const c_char, usize, *const c_char, usize, *mut u64, u64, *mut c_void) -> c_int),
        remove: call!((*mut fid_av, *mut u64, usize, u64) -> c_int),
        lookup: call!((*mut fid_av, u64, *mut c_void, *mut usize) -> c_int),
        straddr: call!((*mut fid_av, *const c_void, *mut c_char, *mut usize) -> *const c_char),
        av_set: call!((*mut fid_av, *mut c_void, *mut *mut c_void, *mut c_void) -> c_int),
    }
}

constants! {
    u64 {
        FI_SYMMETRIC = 1 << 59,
        FI_SYNC_ERR = 1 << 58,
    }
}
