//! `rdma/fi_eq.h`: event queues, and what can be waited for.

use std::ffi::{c_char, c_int, c_void};

use super::fid;

structures! {
    fi_eq_attr {
        size: usize,
        flags: u64,
        wait_obj: u32,
        signaling_vector: c_int,
        wait_set: *mut c_void,
    }
    fi_eq_entry {
        fid: *mut fid,
        context: *mut c_void,
        data: u64,
    }
    fi_eq_err_entry {
        fid: *mut fid,
        context: *mut c_void,
        data: u64,
        err: c_int,
        prov_errno: c_int,
        err_data: *mut c_void,
        err_data_size: usize,
    }
    fid_eq {
        fid: fid,
        ops: *const fi_ops_eq,
    }
    fi_ops_eq {
        size: usize,
        read: call!((*mut fid_eq, *mut u32, *mut c_void, usize, u64) -> isize),
        readerr: call!((*mut fid_eq, *mut fi_eq_err_entry, u64) -> isize),
        write: call!((*mut fid_eq, u32, *const c_void, usize, u64) -> isize),
        sread: call!((*mut fid_eq, *mut u32, *mut c_void, usize, c_int, u64) -> isize),
        strerror: call!((*mut fid_eq, c_int, *const c_void, *mut c_char, usize) -> *const c_char),
    }
}

constants! {
    u32 {
        FI_WAIT_NONE = 0,
        FI_WAIT_UNSPEC = 1,
        FI_WAIT_FD = 3,
        FI_WAIT_YIELD = 5,
        FI_NOTIFY = 0,
        FI_MR_COMPLETE = 4,
        FI_AV_COMPLETE = 5,
    }
}
