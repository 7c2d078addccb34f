//! Users and groups by name, from wherever this machine keeps them.

use std::ffi::{CString, c_char};
use std::ptr;

/// Longer entries are those of groups with thousands of members.
const ROOM_BYTES: usize = 256 << 10;

/// The number of a group, given by name or number.
pub fn group(text: &str) -> Option<u32> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let name = CString::new(text).ok()?;
    let mut room = vec![0 as c_char; ROOM_BYTES];
    // SAFETY: a `group` is numbers and pointers, for which zero is a value.
    let mut entry: libc::group = unsafe { std::mem::zeroed() };
    let mut found = ptr::null_mut();
    // SAFETY: all places outlive the call, and the room is as long as said.
    let status = unsafe {
        libc::getgrnam_r(
            name.as_ptr(),
            &raw mut entry,
            room.as_mut_ptr(),
            room.len(),
            &raw mut found,
        )
    };
    (status == 0 && !found.is_null()).then_some(entry.gr_gid)
}

/// The number of a user, given by name or number.
pub fn user(text: &str) -> Option<u32> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let name = CString::new(text).ok()?;
    let mut room = vec![0 as c_char; ROOM_BYTES];
    // SAFETY: a `passwd` is numbers and pointers, for which zero is a value.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = ptr::null_mut();
    // SAFETY: all places outlive the call, and the room is as long as said.
    let status = unsafe {
        libc::getpwnam_r(
            name.as_ptr(),
            &raw mut entry,
            room.as_mut_ptr(),
            room.len(),
            &raw mut found,
        )
    };
    (status == 0 && !found.is_null()).then_some(entry.pw_uid)
}

#[test]
fn root_is_zero() {
    assert_eq!((user("root"), group("root")), (Some(0), Some(0)));
    assert_eq!((user("12"), group("34")), (Some(12), Some(34)));
    assert_eq!((user("no such user"), group("a\0b")), (None, None));
}
