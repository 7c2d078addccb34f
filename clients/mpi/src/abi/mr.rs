//! `rdma/fi_domain.h`: memory regions.

use std::ffi::{c_int, c_void};

use super::fid;

structures! {
    iovec {
        iov_base: *mut c_void,
        iov_len: usize,
    }
    fid_mr {
        fid: fid,
        mem_desc: *mut c_void,
        key: u64,
    }
    fi_mr_attr {
        mr_iov: *const iovec,
        iov_count: usize,
        access: u64,
        offset: u64,
        requested_key: u64,
        context: *mut c_void,
        auth_key_size: usize,
        auth_key: *mut u8,
        iface: u32,
        device: u64,
    }
    fi_ops_mr {
        size: usize,
        reg: call!((*mut fid, *const c_void, usize, u64, u64, u64, u64, *mut *mut fid_mr, *mut c_void) -> c_int),
        regv: call!((*mut fid, *const iovec, usize, u64, u64, u64, u64, *mut *mut fid_mr, *mut c_void) -> c_int),
        regattr: call!((*mut fid, *const fi_mr_attr, u64, *mut *mut fid_mr) -> c_int),
    }
}
