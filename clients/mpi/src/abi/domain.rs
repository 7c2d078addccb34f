//! `rdma/fi_domain.h`: domains. What a provider of ours never looks into is `c_void`.

use std::ffi::{c_int, c_void};

use super::{
    fi_atomic_attr, fi_av_attr, fi_cntr_attr, fi_cq_attr, fi_info, fi_ops_mr, fi_rx_attr,
    fi_tx_attr, fid, fid_av, fid_cntr, fid_cq, fid_ep,
};

structures! {
    fid_domain {
        fid: fid,
        ops: *const fi_ops_domain,
        mr: *const fi_ops_mr,
    }
    fi_ops_domain {
        size: usize,
        av_open: call!((*mut fid_domain, *mut fi_av_attr, *mut *mut fid_av, *mut c_void) -> c_int),
        cq_open: call!((*mut fid_domain, *mut fi_cq_attr, *mut *mut fid_cq, *mut c_void) -> c_int),
        endpoint: call!((*mut fid_domain, *mut fi_info, *mut *mut fid_ep, *mut c_void) -> c_int),
        scalable_ep: call!((*mut fid_domain, *mut fi_info, *mut *mut fid_ep, *mut c_void) -> c_int),
        cntr_open: call!((*mut fid_domain, *mut fi_cntr_attr, *mut *mut fid_cntr, *mut c_void) -> c_int),
        poll_open: call!((*mut fid_domain, *mut c_void, *mut *mut c_void) -> c_int),
        stx_ctx: call!((*mut fid_domain, *mut fi_tx_attr, *mut *mut c_void, *mut c_void) -> c_int),
        srx_ctx: call!((*mut fid_domain, *mut fi_rx_attr, *mut *mut fid_ep, *mut c_void) -> c_int),
        query_atomic: call!((*mut fid_domain, u32, u32, *mut fi_atomic_attr, u64) -> c_int),
        query_collective: call!((*mut fid_domain, u32, *mut c_void, u64) -> c_int),
        endpoint2: call!((*mut fid_domain, *mut fi_info, *mut *mut fid_ep, u64, *mut c_void) -> c_int),
    }
}

constants! {
    u64 {
        FI_REG_MR = 1 << 59,
    }
}
