//! `rdma/fi_eq.h`: counters.

use std::ffi::{c_int, c_void};

use super::fid;

structures! {
    fi_cntr_attr {
        events: u32,
        wait_obj: u32,
        wait_set: *mut c_void,
        flags: u64,
    }
    fid_cntr {
        fid: fid,
        ops: *const fi_ops_cntr,
    }
    fi_ops_cntr {
        size: usize,
        read: call!((*mut fid_cntr) -> u64),
        readerr: call!((*mut fid_cntr) -> u64),
        add: call!((*mut fid_cntr, u64) -> c_int),
        set: call!((*mut fid_cntr, u64) -> c_int),
        wait: call!((*mut fid_cntr, u64, c_int) -> c_int),
        adderr: call!((*mut fid_cntr, u64) -> c_int),
        seterr: call!((*mut fid_cntr, u64) -> c_int),
    }
}

constants! {
    u32 {
        FI_CNTR_EVENTS_COMP = 0,
    }
}
