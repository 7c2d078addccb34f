//! What a program does with an event queue.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::AsRawFd;
use std::slice;

use super::Eq;
use super::queue::Event;
use crate::abi::*;
use crate::call::{self, Failure};
use crate::lock::timeout_of;
use crate::object::{Object, of};
use crate::text_of_error::ErrData;

/// Bytes of an event of the program's own.
const EVENT_LEN_MAX: usize = 4096;

pub(super) unsafe extern "C" fn read(
    eq: *mut fid_eq,
    kind: *mut u32,
    buffer: *mut c_void,
    len: usize,
    flags: u64,
) -> isize {
    // SAFETY: a queue of ours, and room for what is read, by the contract of the caller.
    unsafe {
        of::<Eq, _>(eq)
            .state
            .with(|state| state.read(kind, buffer, len, flags))
    }
}

pub(super) unsafe extern "C" fn sread(
    eq: *mut fid_eq,
    kind: *mut u32,
    buffer: *mut c_void,
    len: usize,
    timeout_ms: c_int,
    flags: u64,
) -> isize {
    call::number("fi_eq_sread", || {
        // SAFETY: a queue of ours, by the contract of the caller.
        let eq: &Eq = unsafe { of(eq) };
        eq.state.with(|state| state.wait.check(Eq::NAME))?;
        let read = eq.state.wait(timeout_of(timeout_ms), |state| {
            // SAFETY: room for what is read, by the contract of the caller.
            let read = unsafe { state.read(kind, buffer, len, flags) };
            (read != -FI_EAGAIN as isize).then_some(read)
        });
        Ok(read.unwrap_or(-FI_EAGAIN as isize))
    })
}

pub(super) unsafe extern "C" fn write(
    eq: *mut fid_eq,
    kind: u32,
    buffer: *const c_void,
    len: usize,
    _flags: u64,
) -> isize {
    call::number("fi_eq_write", || {
        // SAFETY: a queue of ours, by the contract of the caller.
        let eq: &Eq = unsafe { of(eq) };
        if !eq.is_writable {
            return Err(Failure::invalid(
                "the event queue was opened without FI_WRITE, and takes no events of the program's",
            ));
        }
        if len > EVENT_LEN_MAX {
            return Err(Failure::invalid(format!(
                "an event of {len} bytes: {EVENT_LEN_MAX} are the most"
            )));
        }
        // SAFETY: so many bytes, by the contract of the caller.
        let bytes = unsafe { slice::from_raw_parts(buffer.cast::<u8>(), len) }.to_vec();
        Ok(eq.state.change(|state| match state.queue.is_full() {
            true => -FI_EAGAIN as isize,
            false => {
                state.add(|queue| queue.push(Event { kind, bytes }));
                len as isize
            }
        }))
    })
}

pub(super) unsafe extern "C" fn readerr(
    eq: *mut fid_eq,
    entry: *mut fi_eq_err_entry,
    _flags: u64,
) -> isize {
    // SAFETY: a queue of ours, by the contract of the caller.
    let eq: &Eq = unsafe { of(eq) };
    eq.state.with(|state| {
        let Some(failed) = state.queue.take_failed() else {
            return -FI_EAGAIN as isize;
        };
        state.wait.tell(!state.queue.is_empty());
        // SAFETY: an entry as the program's version has it, by the contract of the caller.
        unsafe {
            (*entry).fid = failed.fid;
            (*entry).context = failed.context;
            (*entry).data = failed.data;
            (*entry).err = failed.err;
            (*entry).prov_errno = state.texts.keep(&failed.text);
            let err_data = ErrData {
                place: &raw mut (*entry).err_data,
                len: &raw mut (*entry).err_data_size,
            };
            err_data.put_none(eq.api_version);
        }
        size_of::<fi_eq_err_entry>() as isize
    })
}

pub(super) unsafe extern "C" fn strerror(
    eq: *mut fid_eq,
    prov_errno: c_int,
    _: *const c_void,
    buffer: *mut c_char,
    len: usize,
) -> *const c_char {
    // SAFETY: a queue of ours, and room for the text, by the contract of the caller.
    unsafe {
        let eq: &Eq = of(eq);
        eq.state
            .with(|state| state.texts.get(prov_errno, buffer, len))
    }
}

pub(super) unsafe extern "C" fn control(
    eq: *mut fid,
    command: c_int,
    argument: *mut c_void,
) -> c_int {
    call::status("fi_control", || {
        // SAFETY: a queue of ours, by the contract of the caller.
        let eq: &Eq = unsafe { of(eq) };
        // SAFETY: a place for what the command gives, by the contract of the caller.
        eq.state.with(|state| unsafe {
            state
                .wait
                .control::<Eq>(command, argument, |bell| Ok(bell.as_raw_fd()))
        })
    })
}
