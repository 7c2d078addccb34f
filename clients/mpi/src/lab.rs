//! For tests: a domain, opened as programs do it, without a libfabric.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use crate::abi::*;
use crate::domain;
use crate::fabric;
use crate::object::{Object, of};

/// A fabric and a domain in it, closed at the end.
pub struct Lab {
    fabric: *mut fid_fabric,
    pub domain: *mut fid_domain,
}

impl Lab {
    pub fn new(threading: u32) -> Self {
        let (mut fabric, mut domain) = (ptr::null_mut(), ptr::null_mut());
        let mut attr: fi_fabric_attr = zeroed();
        attr.api_version = fi_version(2, 0);
        let mut domain_attr: fi_domain_attr = zeroed();
        domain_attr.threading = threading;
        let mut info: fi_info = zeroed();
        info.domain_attr = &raw mut domain_attr;
        // SAFETY: attributes, and places for the results.
        unsafe {
            assert_eq!(
                fabric::open(&raw mut attr, &raw mut fabric, ptr::null_mut()),
                0
            );
            assert_eq!(
                domain::open(fabric, &raw mut info, &raw mut domain, ptr::null_mut()),
                0
            );
        }
        Self { fabric, domain }
    }

    /// Opens something of the domain.
    pub fn open<T: Object, A, F>(&self, open: Open<A, F>, attr: &mut A) -> &'static T {
        let mut fid = ptr::null_mut();
        // SAFETY: a domain, attributes, and a place for the result, which stays until it is closed.
        unsafe {
            assert_eq!(open(self.domain, attr, &raw mut fid, ptr::null_mut()), 0);
            of(fid)
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        assert_eq!((close(self.domain), close(self.fabric)), (0, 0));
    }
}

pub type Open<A, F> =
    unsafe extern "C" fn(*mut fid_domain, *mut A, *mut *mut F, *mut c_void) -> i32;

/// An object for other threads: what is in it is behind its lock, and the pointers before that are for C.
pub struct Shared<T: 'static>(pub &'static T);

// SAFETY: see above; only used with objects of domains that have locks.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub fn get(&self) -> &'static T {
        self.0
    }
}

/// Closes an object, by a pointer to it or to its first part.
pub fn close<T>(object: *const T) -> i32 {
    let fid = object.cast_mut().cast::<fid>();
    // SAFETY: all objects begin with a fid that has this function.
    unsafe { (*(*fid).ops).close.unwrap()(fid) }
}

/// A structure without a wish.
pub fn zeroed<T: Copy>() -> T {
    // SAFETY: only used for structures of libfabric's, which are numbers, pointers, and functions that may be missing.
    unsafe { MaybeUninit::zeroed().assume_init() }
}
