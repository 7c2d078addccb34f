//! `rdma/fabric.h` and `rdma/providers/fi_prov.h`: what all objects begin with, fabrics, providers.

use std::ffi::{c_char, c_int, c_void};

use super::{fi_eq_attr, fi_fabric_attr, fi_info, fid_domain, fid_eq};

structures! {
    fid {
        fclass: usize,
        context: *mut c_void,
        ops: *const fi_ops,
    }
    fi_ops {
        size: usize,
        close: call!((*mut fid) -> c_int),
        bind: call!((*mut fid, *mut fid, u64) -> c_int),
        control: call!((*mut fid, c_int, *mut c_void) -> c_int),
        ops_open: call!((*mut fid, *const c_char, u64, *mut *mut c_void, *mut c_void) -> c_int),
        tostr: call!((*const fid, *mut c_char, usize) -> c_int),
        ops_set: call!((*mut fid, *const c_char, u64, *mut c_void, *mut c_void) -> c_int),
    }
    fid_fabric {
        fid: fid,
        ops: *const fi_ops_fabric,
        api_version: u32,
    }
    fi_ops_fabric {
        size: usize,
        domain: call!((*mut fid_fabric, *mut fi_info, *mut *mut fid_domain, *mut c_void) -> c_int),
        passive_ep: call!((*mut fid_fabric, *mut fi_info, *mut *mut c_void, *mut c_void) -> c_int),
        eq_open: call!((*mut fid_fabric, *mut fi_eq_attr, *mut *mut fid_eq, *mut c_void) -> c_int),
        wait_open: call!((*mut fid_fabric, *mut c_void, *mut *mut c_void) -> c_int),
        trywait: call!((*mut fid_fabric, *mut *mut fid, c_int) -> c_int),
        domain2: call!((*mut fid_fabric, *mut fi_info, *mut *mut fid_domain, u64, *mut c_void) -> c_int),
    }
    fi_context {
        internal: [*mut c_void; 4],
    }
    fi_provider {
        version: u32,
        fi_version: u32,
        context: fi_context,
        name: *const c_char,
        getinfo: call!((u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int),
        fabric: call!((*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int),
        cleanup: call!(() -> ()),
    }
}

constants! {
    usize {
        FI_CLASS_FABRIC = 1,
        FI_CLASS_DOMAIN = 2,
        FI_CLASS_EP = 3,
        FI_CLASS_AV = 11,
        FI_CLASS_MR = 12,
        FI_CLASS_EQ = 13,
        FI_CLASS_CQ = 14,
        FI_CLASS_CNTR = 15,
    }
    i32 {
        FI_GETWAIT = 5,
        FI_ENABLE = 6,
        FI_GETWAITOBJ = 16,
        FI_PARAM_SIZE_T = 3,
    }
}

/// A version as libfabric writes it.
pub const fn fi_version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}
