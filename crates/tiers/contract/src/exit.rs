//! Last words: only the exiting process itself knows its exit status everywhere.

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use bcl_os::PerProcess;
use bcl_os::sync::{AtomicBool, Ordering};

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Something to do with the exit status.
type Farewell = fn(i32);

/// What tiers have to say, in the order in which they came.
static FAREWELLS: PerProcess<Mutex<Vec<Farewell>>> = PerProcess::new(Mutex::default);

/// Has `farewell` called, once, with the exit status when the program returns from `main` or calls `exit`. A child that is
/// forked has nothing to say until it asks itself.
pub fn at_exit(farewell: Farewell) {
    // Of the process that began it all: its children inherit it.
    static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
    if !IS_INSTALLED.swap(true, Ordering::Relaxed) {
        // SAFETY: glibc's on_exit takes a function and an argument; the function lives as long as the
        // library, which is linked with `-z nodelete`.
        let _ = unsafe { on_exit(exiting, std::ptr::null_mut()) };
    }
    let farewells = FAREWELLS.get().lock();
    let mut farewells = farewells.unwrap_or_else(PoisonError::into_inner);
    if !farewells
        .iter()
        .any(|known| std::ptr::fn_addr_eq(*known, farewell))
    {
        farewells.push(farewell);
    }
}

extern "C" fn exiting(status: c_int, _: *mut c_void) {
    // Not waited for: whoever holds it may be a thread that the exit has stopped for ever.
    if let Ok(farewells) = FAREWELLS.get().try_lock() {
        farewells.iter().for_each(|farewell| farewell(status));
    }
}
