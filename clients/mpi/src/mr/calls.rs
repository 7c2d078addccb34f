//! How a program registers memory: as a piece, as a list of pieces, with attributes.

use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

use bcl_adi::Hidden;

use super::Mr;
use super::regions::Region;
use crate::abi::*;
use crate::call::{self, Failure};
use crate::domain::Domain;
use crate::getinfo::limits::MR_IOV_LIMIT;
use crate::object::{of, unknown_command};

pub(super) unsafe extern "C" fn reg(
    domain: *mut fid,
    start: *const c_void,
    len: usize,
    access: u64,
    _offset: u64,
    key: u64,
    flags: u64,
    mr: *mut *mut fid_mr,
    context: *mut c_void,
) -> c_int {
    call::status("fi_mr_reg", || {
        let region = Region {
            start: start as usize,
            len,
            access,
        };
        // SAFETY: a domain of ours and a place for the result, by the contract of the caller.
        unsafe {
            mr.write(Mr::open_in(of::<Domain, _>(domain), region, key, flags, context)?.cast())
        };
        Ok(())
    })
}

pub(super) unsafe extern "C" fn regv(
    domain: *mut fid,
    iov: *const iovec,
    count: usize,
    access: u64,
    _offset: u64,
    key: u64,
    flags: u64,
    mr: *mut *mut fid_mr,
    context: *mut c_void,
) -> c_int {
    call::status("fi_mr_regv", || {
        // SAFETY: as many pieces, a domain of ours and a place for the result, by the contract of the caller.
        unsafe {
            let region = one_piece(iov, count, access)?;
            mr.write(Mr::open_in(of::<Domain, _>(domain), region, key, flags, context)?.cast());
        }
        Ok(())
    })
}

pub(super) unsafe extern "C" fn regattr(
    domain: *mut fid,
    attr: *const fi_mr_attr,
    flags: u64,
    mr: *mut *mut fid_mr,
) -> c_int {
    call::status("fi_mr_regattr", || {
        // SAFETY: as above. Fields are read one by one, for an older program has fewer.
        unsafe {
            let (key, context) = ((*attr).requested_key, (*attr).context);
            let region = one_piece((*attr).mr_iov, (*attr).iov_count, (*attr).access)?;
            mr.write(Mr::open_in(of::<Domain, _>(domain), region, key, flags, context)?.cast());
        }
        Ok(())
    })
}

/// # Safety
/// As many pieces.
unsafe fn one_piece(iov: *const iovec, count: usize, access: u64) -> Result<Region, Failure> {
    if count != MR_IOV_LIMIT {
        return Err(Failure::invalid(format!(
            "a region is one piece of memory, and not {count}"
        )));
    }
    // SAFETY: by the contract.
    let iovec { iov_base, iov_len } = unsafe { *iov };
    Ok(Region {
        start: iov_base as usize,
        len: iov_len,
        access,
    })
}

/// How long a region that is closed waits for peers that are reading or writing it: some of them may have been stopped.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call::status("fi_close", || {
        // SAFETY: a region of ours, by the contract of the caller.
        let mr: &Mr = unsafe { of(fid) };
        if !mr.hide() {
            return Err(Failure::new(
                FI_EBUSY,
                format!(
                    "the memory region of key {:#x} is still read or written by peers, after {} s: close it again before the memory is freed",
                    mr.fid.key,
                    PATIENCE.as_secs()
                ),
            ));
        }
        // SAFETY: from `open`, and good for nobody from now on.
        drop(unsafe { Box::from_raw(fid.cast::<Mr>()) });
        Ok(())
    })
}

impl Mr {
    /// From now on nobody finds it. False: somebody who has found it before is not through.
    fn hide(&self) -> bool {
        let hidden = self.regions.with(|regions| regions.hide(self.fid.key));
        self.hidden.with(|place| {
            if hidden.is_some() {
                *place = hidden;
            }
        });
        let is_over = || {
            self.hidden
                .with(|hidden| hidden.as_ref().is_none_or(Hidden::is_over))
        };
        let until = Instant::now() + PATIENCE;
        while !is_over() {
            if Instant::now() > until {
                return false;
            }
            self.endpoints.drive();
            std::thread::yield_now();
        }
        true
    }
}

/// A region is enabled from the beginning.
pub(super) unsafe extern "C" fn control(_: *mut fid, command: c_int, _: *mut c_void) -> c_int {
    match command {
        FI_ENABLE => 0,
        other => call::status("fi_control", || Err(unknown_command::<Mr>(other))),
    }
}
