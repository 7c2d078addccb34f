//! What else a program does with an address vector.

use std::ffi::{c_char, c_int, c_void};
use std::slice;

use super::Av;
use crate::abi::*;
use crate::call::{self, Failure};
use crate::name::Name;
use crate::object::of;

pub(super) unsafe extern "C" fn remove(
    av: *mut fid_av,
    fi_addrs: *mut u64,
    count: usize,
    _flags: u64,
) -> c_int {
    call::status("fi_av_remove", || {
        // SAFETY: a vector of ours, by the contract of the caller.
        let av: &Av = unsafe { of(av) };
        for index in 0..count {
            // SAFETY: as many, by the contract of the caller.
            let fi_addr = unsafe { fi_addrs.add(index).read() };
            av.remove(fi_addr)?;
        }
        Ok(())
    })
}

/// Writes as much of the name as there is room for, and how long it is.
pub(super) unsafe extern "C" fn lookup(
    av: *mut fid_av,
    fi_addr: u64,
    name: *mut c_void,
    len: *mut usize,
) -> c_int {
    call::status("fi_av_lookup", || {
        // SAFETY: a vector of ours, by the contract of the caller.
        let av: &Av = unsafe { of(av) };
        let bytes = av.table.with(|table| table.name(fi_addr))?.to_bytes();
        // SAFETY: a place for the length, and room for as many bytes as it says, by the contract of the caller.
        unsafe {
            name.cast::<u8>()
                .copy_from(bytes.as_ptr(), bytes.len().min(*len));
            *len = bytes.len();
        }
        Ok(())
    })
}

/// Writes a name as people read it, as much as there is room for, and how long that is with its zero.
pub(super) unsafe extern "C" fn straddr(
    _: *mut fid_av,
    name: *const c_void,
    buffer: *mut c_char,
    len: *mut usize,
) -> *const c_char {
    // SAFETY: a name, and a place for its text and the length, by the contract of the caller.
    unsafe {
        let text = match Name::from_bytes(slice::from_raw_parts(name.cast::<u8>(), Name::LEN)) {
            Ok(name) => name.to_string(),
            Err(_) => "not a name of BCL".to_owned(),
        };
        let room = *len;
        *len = text.len() + 1;
        if room > 0 {
            let fits = text.len().min(room - 1);
            buffer.copy_from(text.as_ptr().cast(), fits);
            buffer.add(fits).write(0);
        }
    }
    buffer
}

pub(super) unsafe extern "C" fn no_insertsvc(
    _: *mut fid_av,
    _: *const c_char,
    _: *const c_char,
    _: *mut u64,
    _: u64,
    _: *mut c_void,
) -> c_int {
    call::status("fi_av_insertsvc", || {
        Err(Failure::unsupported(
            "ports are not found by service: insert the name that fi_getname gives at the other end",
        ))
    })
}

pub(super) unsafe extern "C" fn no_insertsym(
    _: *mut fid_av,
    _: *const c_char,
    _: usize,
    _: *const c_char,
    _: usize,
    _: *mut u64,
    _: u64,
    _: *mut c_void,
) -> c_int {
    call::status("fi_av_insertsym", || {
        Err(Failure::unsupported(
            "ports of nodes are not numbered alike: insert the names that fi_getname gives",
        ))
    })
}

pub(super) unsafe extern "C" fn no_av_set(
    _: *mut fid_av,
    _: *mut c_void,
    _: *mut *mut c_void,
    _: *mut c_void,
) -> c_int {
    call::status("fi_av_set", || {
        Err(Failure::unsupported("there are no collective operations"))
    })
}
