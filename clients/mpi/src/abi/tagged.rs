//! `rdma/fi_tagged.h`: messages that are matched by a tag.

use std::ffi::c_void;

use super::{fid_ep, iovec};

structures! {
    fi_msg_tagged {
        msg_iov: *const iovec,
        desc: *mut *mut c_void,
        iov_count: usize,
        addr: u64,
        tag: u64,
        ignore: u64,
        context: *mut c_void,
        data: u64,
    }
    fi_ops_tagged {
        size: usize,
        recv: call!((*mut fid_ep, *mut c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize),
        recvv: call!((*mut fid_ep, *const iovec, *mut *mut c_void, usize, u64, u64, u64, *mut c_void) -> isize),
        recvmsg: call!((*mut fid_ep, *const fi_msg_tagged, u64) -> isize),
        send: call!((*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, *mut c_void) -> isize),
        sendv: call!((*mut fid_ep, *const iovec, *mut *mut c_void, usize, u64, u64, *mut c_void) -> isize),
        sendmsg: call!((*mut fid_ep, *const fi_msg_tagged, u64) -> isize),
        inject: call!((*mut fid_ep, *const c_void, usize, u64, u64) -> isize),
        senddata: call!((*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize),
        injectdata: call!((*mut fid_ep, *const c_void, usize, u64, u64, u64) -> isize),
    }
}
