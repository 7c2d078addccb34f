//! Telling peers the exit status: only the exiting process itself knows it everywhere.

use std::ffi::{c_int, c_void};
use std::sync::{Once, OnceLock};

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Has `farewell` called when the program returns from `main` or calls `exit`.
pub(crate) fn install() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        crate::fork::watch();
        // SAFETY: glibc's on_exit takes a function and an argument; the function lives as long as the
        // library, which is linked with `-z nodelete`.
        let _ = unsafe { on_exit(exiting, std::ptr::null_mut()) };
    });
}

extern "C" fn exiting(status: c_int, _: *mut c_void) {
    crate::service::farewell(status);
    if let Some(farewell) = FAREWELL.get() {
        farewell();
    }
}

static FAREWELL: OnceLock<fn()> = OnceLock::new();

/// Has another tier's farewell said as well. One, once for the life of the process.
pub fn also(farewell: fn()) {
    let _ = FAREWELL.set(farewell);
}
