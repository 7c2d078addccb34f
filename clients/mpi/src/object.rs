//! Objects that a program holds pointers to: made, found again, and not closed while others are made of them.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use crate::abi::{FI_EBUSY, FI_ENOSYS, fi_ops, fid};
use crate::call::{self, Failure};

/// What lies behind a pointer of the program's.
///
/// # Safety
/// It is `#[repr(C)]`, begins with a [`fid`], and no other type has its [`ops`](Self::ops).
pub unsafe trait Object: Sized {
    /// `FI_CLASS_...`
    const CLASS: usize;
    /// What the program's user calls it.
    const NAME: &'static str;

    /// The functions that all objects have: a static of its own, whose address is the sign of this type.
    fn ops() -> &'static fi_ops;

    /// How many use it, and must end first.
    fn users(&self) -> Option<&Users>;

    /// The first part of a new one.
    fn head(context: *mut c_void) -> fid {
        fid {
            fclass: Self::CLASS,
            context,
            ops: Self::ops(),
        }
    }

    /// A pointer for the program, good until [`close`].
    fn open(self) -> *mut Self {
        Box::into_raw(Box::new(self))
    }
}

/// The object behind a pointer that should be to one of this kind.
///
/// # Safety
/// `fid` is null or leads to an object of some provider's that stays open while the result is used.
pub unsafe fn find<'a, T: Object>(fid: *mut fid) -> Option<&'a T> {
    // SAFETY: by the contract.
    let ops = unsafe { fid.as_ref() }?.ops;
    // SAFETY: ours, and of this kind, for nobody else has this table.
    ptr::eq(ops, T::ops()).then(|| unsafe { &*fid.cast::<T>() })
}

/// The object in whose table the function stood that was called.
///
/// # Safety
/// The pointer is what [`Object::open`] has returned, possibly as one to its first part, and has not been closed.
pub unsafe fn of<'a, T: Object, P>(pointer: *mut P) -> &'a T {
    // SAFETY: by the contract.
    unsafe { &*pointer.cast::<T>() }
}

/// `fi_close` of a kind of object.
///
/// # Safety
/// As of [`of`]; nobody uses the pointer afterwards.
pub unsafe extern "C" fn close<T: Object>(fid: *mut fid) -> c_int {
    call::status("fi_close", || {
        // SAFETY: by the contract.
        let object: &T = unsafe { of(fid) };
        let users = object.users().map_or(0, Users::count);
        if users > 0 {
            let name = T::NAME;
            let text = format!(
                "the {name} is used by {users} other objects that are still open: close them first"
            );
            return Err(Failure::new(FI_EBUSY, text));
        }
        // SAFETY: from `open`, and good for nobody from now on.
        drop(unsafe { Box::from_raw(fid.cast::<T>()) });
        Ok(())
    })
}

/// The table of an object with which nothing can be done but to close it.
pub const fn only_close<T: Object>() -> fi_ops {
    fi_ops {
        size: size_of::<fi_ops>(),
        close: Some(close::<T>),
        bind: Some(no_bind::<T>),
        control: Some(no_control::<T>),
        ops_open: Some(no_ops_open),
        tostr: None,
        ops_set: Some(no_ops_set),
    }
}

unsafe extern "C" fn no_bind<T: Object>(_: *mut fid, _: *mut fid, _: u64) -> c_int {
    call::status("fi_bind", || {
        Err(Failure::unsupported(format!(
            "nothing can be bound to the {}",
            T::NAME
        )))
    })
}

unsafe extern "C" fn no_control<T: Object>(_: *mut fid, command: c_int, _: *mut c_void) -> c_int {
    call::status("fi_control", || Err(unknown_command::<T>(command)))
}

/// A command that objects of this kind do not know.
pub fn unknown_command<T: Object>(command: c_int) -> Failure {
    Failure::unsupported(format!("the {} does not know command {command}", T::NAME))
}

/// Programs try which extensions there are: no reason to say anything.
unsafe extern "C" fn no_ops_open(
    _: *mut fid,
    _: *const c_char,
    _: u64,
    _: *mut *mut c_void,
    _: *mut c_void,
) -> c_int {
    -FI_ENOSYS
}

unsafe extern "C" fn no_ops_set(
    _: *mut fid,
    _: *const c_char,
    _: u64,
    _: *mut c_void,
    _: *mut c_void,
) -> c_int {
    -FI_ENOSYS
}

/// A string of the program's, for sentences and names; `None` for null.
///
/// # Safety
/// `text` is null or a string.
pub unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: by the contract.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// Counts who uses an object.
#[derive(Debug, Default)]
pub struct Users(Arc<()>);

/// One of them, for as long as it lives.
#[derive(Debug)]
pub struct User(#[expect(dead_code, reason = "its count is what matters")] Arc<()>);

impl Users {
    /// One more.
    pub fn enter(&self) -> User {
        User(Arc::clone(&self.0))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}
