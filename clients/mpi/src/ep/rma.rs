//! `fi_read`, `fi_write` and so on.

use std::ffi::c_void;

use bcl_adi::{Memory, What};

use super::reaching::{Reaching, reach};
use super::sending::{one, several};
use crate::abi::*;
use crate::call::Failure;
use crate::getinfo::limits::RMA_IOV_LIMIT;

pub(super) static OPS: fi_ops_rma = fi_ops_rma {
    size: size_of::<fi_ops_rma>(),
    read: Some(read),
    readv: Some(readv),
    readmsg: Some(readmsg),
    write: Some(write),
    writev: Some(writev),
    writemsg: Some(writemsg),
    inject: Some(inject),
    writedata: Some(writedata),
    injectdata: Some(injectdata),
};

fn get(memory: Memory) -> What {
    What::Get { memory }
}

fn put(memory: Memory, data: Option<u64>) -> What {
    What::Put { memory, data }
}

unsafe extern "C" fn read(
    ep: *mut fid_ep,
    start: *mut c_void,
    len: usize,
    _: *mut c_void,
    to: u64,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let reaching = || {
        Ok(Reaching {
            to,
            key,
            address,
            what: get(one(start, len)?),
            context,
            flags: None,
            injects: false,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { reach("fi_read", ep, reaching) }
}

unsafe extern "C" fn readv(
    ep: *mut fid_ep,
    pieces: *const iovec,
    _: *mut *mut c_void,
    count: usize,
    to: u64,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let reaching = || {
        Ok(Reaching {
            to,
            key,
            address,
            // SAFETY: so many pieces, by the contract of the caller.
            what: get(unsafe { several(pieces, count) }?),
            context,
            flags: None,
            injects: false,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { reach("fi_readv", ep, reaching) }
}

unsafe extern "C" fn readmsg(ep: *mut fid_ep, msg: *const fi_msg_rma, flags: u64) -> isize {
    // SAFETY: a message, by the contract of the caller.
    let reaching = || unsafe { reaching_of(&*msg, flags, |memory, _| get(memory)) };
    // SAFETY: by the contract of the caller.
    unsafe { reach("fi_readmsg", ep, reaching) }
}

unsafe extern "C" fn write(
    ep: *mut fid_ep,
    start: *const c_void,
    len: usize,
    _: *mut c_void,
    to: u64,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let reaching = || {
        Ok(Reaching {
            to,
            key,
            address,
            what: put(one(start, len)?, None),
            context,
            flags: None,
            injects: false,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { reach("fi_write", ep, reaching) }
}

unsafe extern "C" fn writev(
    ep: *mut fid_ep,
    pieces: *const iovec,
    _: *mut *mut c_void,
    count: usize,
    to: u64,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let reaching = || {
        Ok(Reaching {
            to,
            key,
            address,
            // SAFETY: so many pieces, by the contract of the caller.
            what: put(unsafe { several(pieces, count) }?, None),
            context,
            flags: None,
            injects: false,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { reach("fi_writev", ep, reaching) }
}

unsafe extern "C" fn writemsg(ep: *mut fid_ep, msg: *const fi_msg_rma, flags: u64) -> isize {
    // SAFETY: a message, by the contract of the caller.
    let reaching = || unsafe { reaching_of(&*msg, flags, put) };
    // SAFETY: by the contract of the caller.
    unsafe { reach("fi_writemsg", ep, reaching) }
}

unsafe extern "C" fn inject(
    ep: *mut fid_ep,
    start: *const c_void,
    len: usize,
    to: u64,
    address: u64,
    key: u64,
) -> isize {
    let reaching = || {
        Ok(Reaching {
            to,
            key,
            address,
            what: put(one(start, len)?, None),
            context: std::ptr::null_mut(),
            flags: None,
            injects: true,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { reach("fi_inject_write", ep, reaching) }
}

unsafe extern "C" fn writedata(
    ep: *mut fid_ep,
    start: *const c_void,
    len: usize,
    _: *mut c_void,
    data: u64,
    to: u64,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let reaching = || {
        Ok(Reaching {
            to,
            key,
            address,
            what: put(one(start, len)?, Some(data)),
            context,
            flags: None,
            injects: false,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { reach("fi_writedata", ep, reaching) }
}

unsafe extern "C" fn injectdata(
    ep: *mut fid_ep,
    start: *const c_void,
    len: usize,
    data: u64,
    to: u64,
    address: u64,
    key: u64,
) -> isize {
    let reaching = || {
        Ok(Reaching {
            to,
            key,
            address,
            what: put(one(start, len)?, Some(data)),
            context: std::ptr::null_mut(),
            flags: None,
            injects: true,
        })
    };
    // SAFETY: by the contract of the caller.
    unsafe { reach("fi_inject_writedata", ep, reaching) }
}

/// # Safety
/// The message is as libfabric has it.
unsafe fn reaching_of(
    msg: &fi_msg_rma,
    flags: u64,
    what: impl FnOnce(Memory, Option<u64>) -> What,
) -> Result<Reaching, Failure> {
    if msg.rma_iov_count != RMA_IOV_LIMIT {
        return Err(Failure::invalid(format!(
            "{} places in the peer's memory: an operation is for one",
            msg.rma_iov_count
        )));
    }
    // SAFETY: one place, and so many pieces, by the contract.
    let (place, memory) = unsafe { (*msg.rma_iov, several(msg.msg_iov, msg.iov_count)?) };
    if place.len != memory.len_bytes() {
        return Err(Failure::invalid(format!(
            "{} bytes of the peer's memory, and {} of the program's: there have to be as many",
            place.len,
            memory.len_bytes()
        )));
    }
    let data = (flags & FI_REMOTE_CQ_DATA != 0).then_some(msg.data);
    Ok(Reaching {
        to: msg.addr,
        key: place.key,
        address: place.addr,
        what: what(memory, data),
        context: msg.context,
        flags: Some(flags),
        injects: false,
    })
}
