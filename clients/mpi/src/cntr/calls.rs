//! What a program does with a counter.

use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, BorrowedFd};

use super::counter::{Counter, Reached};
use super::{Cntr, change};
use crate::abi::*;
use crate::call;
use crate::lock::timeout_of;
use crate::object::{Object, of};

impl Cntr {
    fn change(&self, how: impl FnOnce(&mut Counter)) {
        change(&self.state, &self.drivers, how);
    }
}

pub(super) fn look(cntr: &Cntr, at: impl FnOnce(&mut Counter) -> u64) -> u64 {
    cntr.drivers.drive();
    // Whether it was in vain only the program knows; most looks are.
    cntr.drivers.in_vain();
    cntr.state.with(|state| {
        state.wait.tell(false);
        at(&mut state.counter)
    })
}

pub(super) unsafe extern "C" fn read(cntr: *mut fid_cntr) -> u64 {
    // SAFETY: a counter of ours, by the contract of the caller.
    look(unsafe { of::<Cntr, _>(cntr) }, Counter::look)
}

pub(super) unsafe extern "C" fn readerr(cntr: *mut fid_cntr) -> u64 {
    // SAFETY: a counter of ours, by the contract of the caller.
    look(unsafe { of::<Cntr, _>(cntr) }, Counter::look_at_failed)
}

pub(super) unsafe extern "C" fn add(cntr: *mut fid_cntr, value: u64) -> c_int {
    // SAFETY: a counter of ours, by the contract of the caller.
    unsafe { of::<Cntr, _>(cntr) }.change(|counter| counter.add(value));
    0
}

pub(super) unsafe extern "C" fn set(cntr: *mut fid_cntr, value: u64) -> c_int {
    // SAFETY: a counter of ours, by the contract of the caller.
    unsafe { of::<Cntr, _>(cntr) }.change(|counter| counter.set(value));
    0
}

pub(super) unsafe extern "C" fn adderr(cntr: *mut fid_cntr, value: u64) -> c_int {
    // SAFETY: a counter of ours, by the contract of the caller.
    unsafe { of::<Cntr, _>(cntr) }.change(|counter| counter.add_failed(value));
    0
}

pub(super) unsafe extern "C" fn seterr(cntr: *mut fid_cntr, value: u64) -> c_int {
    // SAFETY: a counter of ours, by the contract of the caller.
    unsafe { of::<Cntr, _>(cntr) }.change(|counter| counter.set_failed(value));
    0
}

pub(super) unsafe extern "C" fn wait(
    cntr: *mut fid_cntr,
    threshold: u64,
    timeout_ms: c_int,
) -> c_int {
    // SAFETY: a counter of ours, by the contract of the caller.
    let cntr: &Cntr = unsafe { of(cntr) };
    let mut result = 0;
    let status = call::status("fi_cntr_wait", || {
        let failed = cntr.state.with(|state| {
            state
                .wait
                .check(Cntr::NAME)
                .map(|()| state.counter.failed())
        })?;
        let look = || {
            cntr.state
                .with(|state| state.counter.reached(threshold, failed))
        };
        let reached = cntr.drivers.wait(timeout_of(timeout_ms), look)?;
        result = match reached {
            Some(Reached::Threshold) => 0,
            Some(Reached::Failure) => -FI_EAVAIL,
            None => -FI_ETIMEDOUT,
        };
        Ok(())
    });
    if status == 0 { result } else { status }
}

pub(super) unsafe extern "C" fn control(
    cntr: *mut fid,
    command: c_int,
    argument: *mut c_void,
) -> c_int {
    call::status("fi_control", || {
        // SAFETY: a counter of ours, by the contract of the caller.
        let cntr: &Cntr = unsafe { of(cntr) };
        let descriptor =
            |bell: BorrowedFd<'_>| cntr.drivers.descriptor(bell).map(|all| all.as_raw_fd());
        // SAFETY: a place for what the command gives, by the contract of the caller.
        cntr.state
            .with(|state| unsafe { state.wait.control::<Cntr>(command, argument, descriptor) })
    })
}
