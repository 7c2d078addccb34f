//! Last words: only the exiting process itself knows its exit status everywhere.

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, Once, PoisonError};

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// What tiers have to say, in the order in which they came.
static FAREWELLS: Mutex<Vec<fn(i32)>> = Mutex::new(Vec::new());

/// Has `farewell` called with the exit status when the program returns from `main` or calls `exit`. To be asked for once
/// in the life of a process; a child that it forks inherits it.
pub fn at_exit(farewell: fn(i32)) {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // SAFETY: glibc's on_exit takes a function and an argument; the function lives as long as the
        // library, which is linked with `-z nodelete`.
        let _ = unsafe { on_exit(exiting, std::ptr::null_mut()) };
    });
    let mut farewells = FAREWELLS.lock().unwrap_or_else(PoisonError::into_inner);
    farewells.push(farewell);
}

extern "C" fn exiting(status: c_int, _: *mut c_void) {
    // Not waited for: whoever holds it may be a thread that the exit has stopped for ever.
    if let Ok(farewells) = FAREWELLS.try_lock() {
        farewells.iter().for_each(|farewell| farewell(status));
    }
}
