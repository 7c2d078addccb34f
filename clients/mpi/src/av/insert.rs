//! `fi_av_insert`: names come in one by one, and who does not is named.

use std::ffi::{c_int, c_void};
use std::slice;

use super::Av;
use crate::abi::*;
use crate::call::{self, Failure};
use crate::eq::queue::Failed;
use crate::log::{self, Level};
use crate::name::Name;
use crate::object::of;

/// Returns how many came in; with `FI_EVENT` nothing, for the events say that.
pub(super) unsafe extern "C" fn insert(
    av: *mut fid_av,
    names: *const c_void,
    count: usize,
    fi_addrs: *mut u64,
    flags: u64,
    context: *mut c_void,
) -> c_int {
    let mut inserted: c_int = 0;
    let status = call::status("fi_av_insert", || {
        // SAFETY: a vector of ours, by the contract of the caller.
        let av: &Av = unsafe { of(av) };
        av.check_insert(fi_addrs, flags)?;
        for index in 0..count {
            // SAFETY: names of the length that fi_getinfo and fi_getname have said, as many, by the contract.
            let name = unsafe {
                slice::from_raw_parts(names.cast::<u8>().add(index * Name::LEN), Name::LEN)
            };
            let result = av.insert(name).map_err(Failure::from);
            // SAFETY: room for as many results, where there is any, by the contract of the caller.
            unsafe {
                if !fi_addrs.is_null() {
                    fi_addrs
                        .add(index)
                        .write(*result.as_ref().unwrap_or(&FI_ADDR_NOTAVAIL));
                }
                if flags & FI_SYNC_ERR != 0 {
                    context
                        .cast::<c_int>()
                        .add(index)
                        .write(result.as_ref().map_or_else(|failure| failure.code, |_| 0));
                }
            }
            match result {
                Ok(_) => inserted += 1,
                Err(failure) => av.tell_failed(index, failure, context),
            }
        }
        av.tell_done(inserted, context);
        Ok(())
    });
    // SAFETY: as above.
    let tells = unsafe { of::<Av, _>(av) }.tells;
    if status != 0 || tells {
        status
    } else {
        inserted
    }
}

impl Av {
    fn check_insert(&self, fi_addrs: *mut u64, flags: u64) -> Result<(), Failure> {
        match flags & !(FI_MORE | FI_SYNC_ERR) {
            0 => {}
            flags => {
                return Err(Failure::new(
                    FI_EBADFLAGS,
                    format!("insertions know no flags {flags:#x}"),
                ));
            }
        }
        if self.tells && self.poster.with(|poster| poster.is_none()) {
            let text =
                "the address vector was opened with FI_EVENT: bind an event queue to it first";
            return Err(Failure::new(FI_ENOEQ, text));
        }
        match self.is_map && fi_addrs.is_null() {
            true => Err(Failure::invalid(
                "a vector of type FI_AV_MAP has to have a place for what it gives for addresses",
            )),
            false => Ok(()),
        }
    }

    fn tell_done(&self, inserted: c_int, context: *mut c_void) {
        if let Some(fid) = self.tells.then(|| self.as_fid()) {
            self.poster.with(|poster| {
                poster
                    .iter()
                    .for_each(|poster| poster.post(FI_AV_COMPLETE, fid, context, inserted as u64));
            });
        }
    }

    /// Which one did not come in, and why: as an event, or to the user.
    fn tell_failed(&self, index: usize, failure: Failure, context: *mut c_void) {
        let text = format!("address {index}: {failure}");
        if self.tells {
            let failed = Failed {
                fid: self.as_fid(),
                context,
                data: index as u64,
                err: failure.code,
                text,
            };
            self.poster.with(|poster| {
                poster
                    .iter()
                    .for_each(|poster| poster.post_failed(failed.clone()))
            });
        } else {
            log::say(Level::Warn, &format!("fi_av_insert: {text}"));
        }
    }

    fn as_fid(&self) -> *mut fid {
        (&raw const *self).cast_mut().cast()
    }
}
