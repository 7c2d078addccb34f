//! `rdma/fi_eq.h`: completion queues.

use std::ffi::{c_char, c_int, c_void};

use super::fid;

structures! {
    fi_cq_attr {
        size: usize,
        flags: u64,
        format: u32,
        wait_obj: u32,
        signaling_vector: c_int,
        wait_cond: u32,
        wait_set: *mut c_void,
    }
    fi_cq_entry {
        op_context: *mut c_void,
    }
    fi_cq_msg_entry {
        op_context: *mut c_void,
        flags: u64,
        len: usize,
    }
    fi_cq_data_entry {
        op_context: *mut c_void,
        flags: u64,
        len: usize,
        buf: *mut c_void,
        data: u64,
    }
    fi_cq_tagged_entry {
        op_context: *mut c_void,
        flags: u64,
        len: usize,
        buf: *mut c_void,
        data: u64,
        tag: u64,
    }
    fi_cq_err_entry {
        op_context: *mut c_void,
        flags: u64,
        len: usize,
        buf: *mut c_void,
        data: u64,
        tag: u64,
        olen: usize,
        err: c_int,
        prov_errno: c_int,
        err_data: *mut c_void,
        err_data_size: usize,
    } + since (1, 20) {
        src_addr: u64,
    }
    fid_cq {
        fid: fid,
        ops: *const fi_ops_cq,
    }
    fi_ops_cq {
        size: usize,
        read: call!((*mut fid_cq, *mut c_void, usize) -> isize),
        readfrom: call!((*mut fid_cq, *mut c_void, usize, *mut u64) -> isize),
        readerr: call!((*mut fid_cq, *mut fi_cq_err_entry, u64) -> isize),
        sread: call!((*mut fid_cq, *mut c_void, usize, *const c_void, c_int) -> isize),
        sreadfrom: call!((*mut fid_cq, *mut c_void, usize, *mut u64, *const c_void, c_int) -> isize),
        signal: call!((*mut fid_cq) -> c_int),
        strerror: call!((*mut fid_cq, c_int, *const c_void, *mut c_char, usize) -> *const c_char),
    }
}

constants! {
    u32 {
        FI_CQ_FORMAT_UNSPEC = 0,
        FI_CQ_FORMAT_CONTEXT = 1,
        FI_CQ_FORMAT_MSG = 2,
        FI_CQ_FORMAT_DATA = 3,
        FI_CQ_FORMAT_TAGGED = 4,
        FI_CQ_COND_NONE = 0,
        FI_CQ_COND_THRESHOLD = 1,
    }
}
