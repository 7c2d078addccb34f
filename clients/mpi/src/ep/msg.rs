//! `fi_send`, `fi_recv` and so on: messages without tags.

use std::ffi::c_void;

use super::data::MESSAGES;
use super::receiving::{Receiving, receive};
use super::sending::{Sending, one, send, several};
use crate::abi::*;

pub(super) static OPS: fi_ops_msg = fi_ops_msg {
    size: size_of::<fi_ops_msg>(),
    recv: Some(recv),
    recvv: Some(recvv),
    recvmsg: Some(recvmsg),
    send: Some(send_one),
    sendv: Some(sendv),
    sendmsg: Some(sendmsg),
    inject: Some(inject),
    senddata: Some(senddata),
    injectdata: Some(injectdata),
};

unsafe extern "C" fn recv(
    ep: *mut fid_ep,
    start: *mut c_void,
    len: usize,
    _: *mut c_void,
    from: u64,
    context: *mut c_void,
) -> isize {
    let receiving = || {
        Ok(Receiving {
            memory: one(start, len)?,
            from,
            tag: 0,
            ignore: 0,
            context,
            flags: None,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { receive("fi_recv", ep, MESSAGES, receiving) }
}

unsafe extern "C" fn recvv(
    ep: *mut fid_ep,
    pieces: *const iovec,
    _: *mut *mut c_void,
    count: usize,
    from: u64,
    context: *mut c_void,
) -> isize {
    let receiving = || {
        Ok(Receiving {
            // SAFETY: so many pieces, by the contract of the caller.
            memory: unsafe { several(pieces, count) }?,
            from,
            tag: 0,
            ignore: 0,
            context,
            flags: None,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { receive("fi_recvv", ep, MESSAGES, receiving) }
}

unsafe extern "C" fn recvmsg(ep: *mut fid_ep, msg: *const fi_msg, flags: u64) -> isize {
    // SAFETY: a message, by the contract of the caller.
    let msg = unsafe { &*msg };
    let receiving = || {
        Ok(Receiving {
            // SAFETY: as above.
            memory: unsafe { several(msg.msg_iov, msg.iov_count) }?,
            from: msg.addr,
            tag: 0,
            ignore: 0,
            context: msg.context,
            flags: Some(flags),
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { receive("fi_recvmsg", ep, MESSAGES, receiving) }
}

unsafe extern "C" fn send_one(
    ep: *mut fid_ep,
    start: *const c_void,
    len: usize,
    _: *mut c_void,
    to: u64,
    context: *mut c_void,
) -> isize {
    let sending = || {
        Ok(Sending {
            memory: one(start, len)?,
            to,
            tag: 0,
            data: None,
            context,
            flags: None,
            injects: false,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { send("fi_send", ep, MESSAGES, sending) }
}

unsafe extern "C" fn sendv(
    ep: *mut fid_ep,
    pieces: *const iovec,
    _: *mut *mut c_void,
    count: usize,
    to: u64,
    context: *mut c_void,
) -> isize {
    let sending = || {
        Ok(Sending {
            // SAFETY: so many pieces, by the contract of the caller.
            memory: unsafe { several(pieces, count) }?,
            to,
            tag: 0,
            data: None,
            context,
            flags: None,
            injects: false,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { send("fi_sendv", ep, MESSAGES, sending) }
}

unsafe extern "C" fn sendmsg(ep: *mut fid_ep, msg: *const fi_msg, flags: u64) -> isize {
    // SAFETY: a message, by the contract of the caller.
    let msg = unsafe { &*msg };
    let sending = || {
        Ok(Sending {
            // SAFETY: as above.
            memory: unsafe { several(msg.msg_iov, msg.iov_count) }?,
            to: msg.addr,
            tag: 0,
            data: (flags & FI_REMOTE_CQ_DATA != 0).then_some(msg.data),
            context: msg.context,
            flags: Some(flags),
            injects: false,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { send("fi_sendmsg", ep, MESSAGES, sending) }
}

unsafe extern "C" fn inject(ep: *mut fid_ep, start: *const c_void, len: usize, to: u64) -> isize {
    let sending = || {
        Ok(Sending {
            memory: one(start, len)?,
            to,
            tag: 0,
            data: None,
            context: std::ptr::null_mut(),
            flags: None,
            injects: true,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { send("fi_inject", ep, MESSAGES, sending) }
}

unsafe extern "C" fn senddata(
    ep: *mut fid_ep,
    start: *const c_void,
    len: usize,
    _: *mut c_void,
    data: u64,
    to: u64,
    context: *mut c_void,
) -> isize {
    let sending = || {
        Ok(Sending {
            memory: one(start, len)?,
            to,
            tag: 0,
            data: Some(data),
            context,
            flags: None,
            injects: false,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { send("fi_senddata", ep, MESSAGES, sending) }
}

unsafe extern "C" fn injectdata(
    ep: *mut fid_ep,
    start: *const c_void,
    len: usize,
    data: u64,
    to: u64,
) -> isize {
    let sending = || {
        Ok(Sending {
            memory: one(start, len)?,
            to,
            tag: 0,
            data: Some(data),
            context: std::ptr::null_mut(),
            flags: None,
            injects: true,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { send("fi_injectdata", ep, MESSAGES, sending) }
}
