//! What a program does with a completion queue.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsRawFd, BorrowedFd};

use super::format::Format;
use super::queue::Next;
use super::{Cq, State, error};
use crate::abi::*;
use crate::call;
use crate::lock::timeout_of;
use crate::object::{Object, of};

impl State {
    /// Reads up to `count` completions; negative if there are none.
    ///
    /// # Safety
    /// There is room for so many entries, and as many addresses if that is not null.
    #[inline]
    unsafe fn read(
        &mut self,
        format: Format,
        buffer: *mut c_void,
        count: usize,
        sources: *mut u64,
    ) -> isize {
        if self.queue.is_empty() {
            return -FI_EAGAIN as isize;
        }
        for index in 0..count {
            match self.queue.take() {
                Next::Done(completion) => {
                    // SAFETY: by the contract.
                    unsafe {
                        format.write(buffer, index, &completion);
                        if !sources.is_null() {
                            sources.add(index).write(completion.source);
                        }
                    }
                }
                Next::Failed if index == 0 => return -FI_EAVAIL as isize,
                Next::Failed | Next::Nothing => {
                    self.tell();
                    return index as isize;
                }
            }
        }
        self.tell();
        if count == 0 {
            -FI_EAGAIN as isize
        } else {
            count as isize
        }
    }

    fn tell(&mut self) {
        let something = !self.queue.is_empty() || self.signaled;
        self.wait.tell(something);
    }
}

pub(super) unsafe extern "C" fn read(cq: *mut fid_cq, buffer: *mut c_void, count: usize) -> isize {
    // SAFETY: by the contract of the caller.
    unsafe { readfrom(cq, buffer, count, std::ptr::null_mut()) }
}

pub(super) unsafe extern "C" fn readfrom(
    cq: *mut fid_cq,
    buffer: *mut c_void,
    count: usize,
    sources: *mut u64,
) -> isize {
    // SAFETY: a queue of ours, and room for what is read, by the contract of the caller.
    unsafe {
        let cq: &Cq = of(cq);
        cq.read(buffer, count, sources)
    }
}

impl Cq {
    /// Reads what is there; if nothing is, looks at the endpoints first.
    ///
    /// # Safety
    /// As of [`State::read`].
    #[inline]
    unsafe fn read(&self, buffer: *mut c_void, count: usize, sources: *mut u64) -> isize {
        let read = || {
            self.state.with(|state| {
                // SAFETY: by the contract.
                unsafe { state.read(self.format, buffer, count, sources) }
            })
        };
        let mut found = read();
        if found == -FI_EAGAIN as isize {
            self.drivers.drive();
            found = read();
        }
        match found == -FI_EAGAIN as isize {
            true => self.drivers.in_vain(),
            false => self.drivers.with_success(),
        }
        found
    }
}

pub(super) unsafe extern "C" fn sread(
    cq: *mut fid_cq,
    buffer: *mut c_void,
    count: usize,
    condition: *const c_void,
    timeout_ms: c_int,
) -> isize {
    // SAFETY: by the contract of the caller.
    unsafe {
        sreadfrom(
            cq,
            buffer,
            count,
            std::ptr::null_mut(),
            condition,
            timeout_ms,
        )
    }
}

/// The condition is a wish that a provider may pass over: who waits is woken by the first completion.
pub(super) unsafe extern "C" fn sreadfrom(
    cq: *mut fid_cq,
    buffer: *mut c_void,
    count: usize,
    sources: *mut u64,
    _condition: *const c_void,
    timeout_ms: c_int,
) -> isize {
    call::number("fi_cq_sread", || {
        // SAFETY: a queue of ours, by the contract of the caller.
        let cq: &Cq = unsafe { of(cq) };
        cq.state.with(|state| state.wait.check(Cq::NAME))?;
        let look = |state: &mut State| {
            // SAFETY: room for what is read, by the contract of the caller.
            let read = unsafe { state.read(cq.format, buffer, count, sources) };
            if read != -FI_EAGAIN as isize {
                return Some(read);
            }
            let signaled = std::mem::replace(&mut state.signaled, false);
            state.tell();
            signaled.then_some(read)
        };
        let timeout = timeout_of(timeout_ms);
        let read = cq.drivers.wait(timeout, || cq.state.with(look))?;
        Ok(read.unwrap_or(-FI_EAGAIN as isize))
    })
}

pub(super) unsafe extern "C" fn readerr(
    cq: *mut fid_cq,
    entry: *mut fi_cq_err_entry,
    _flags: u64,
) -> isize {
    // SAFETY: a queue of ours, by the contract of the caller.
    let cq: &Cq = unsafe { of(cq) };
    cq.state.with(|state| {
        let Some(failed) = state.queue.take_failed() else {
            return -FI_EAGAIN as isize;
        };
        state.tell();
        // SAFETY: an entry as the program's version has it, by the contract of the caller.
        unsafe { error::write(entry, &failed, cq.api_version, &mut state.texts) };
        1
    })
}

pub(super) unsafe extern "C" fn signal(cq: *mut fid_cq) -> c_int {
    // SAFETY: a queue of ours, by the contract of the caller.
    let cq: &Cq = unsafe { of(cq) };
    cq.state.change(|state| {
        state.signaled = true;
        state.tell();
    });
    cq.drivers.nudge();
    0
}

pub(super) unsafe extern "C" fn strerror(
    cq: *mut fid_cq,
    prov_errno: c_int,
    _: *const c_void,
    buffer: *mut c_char,
    len: usize,
) -> *const c_char {
    // SAFETY: a queue of ours, and room for the text, by the contract of the caller.
    unsafe {
        let cq: &Cq = of(cq);
        cq.state
            .with(|state| state.texts.get(prov_errno, buffer, len))
    }
}

pub(super) unsafe extern "C" fn control(
    cq: *mut fid,
    command: c_int,
    argument: *mut c_void,
) -> c_int {
    call::status("fi_control", || {
        // SAFETY: a queue of ours, by the contract of the caller.
        let cq: &Cq = unsafe { of(cq) };
        let descriptor =
            |bell: BorrowedFd<'_>| cq.drivers.descriptor(bell).map(|all| all.as_raw_fd());
        // SAFETY: a place for what the command gives, by the contract of the caller.
        cq.state
            .with(|state| unsafe { state.wait.control::<Cq>(command, argument, descriptor) })
    })
}
