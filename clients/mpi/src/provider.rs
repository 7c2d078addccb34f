//! What libfabric finds in the library.

use std::ffi::c_void;
use std::ptr;

use crate::abi::{fi_context, fi_provider, fi_version};
use crate::fabric;
use crate::getinfo;
use crate::host::Host;
use crate::log::{self, Level};
use crate::settings;

/// What the provider is called, in `FI_PROVIDER`, hints and logs.
pub const NAME: &str = "bcl";

/// Our version: of two providers of a name, libfabric takes the newer.
pub const VERSION: u32 = fi_version(0, 1);

/// Called by libfabric when it has loaded the library. What it gets stays for good, for there it keeps things of its own.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *mut fi_provider {
    let Some(host) = Host::find() else {
        log::say(
            Level::Warn,
            "fi_prov_ini: the libfabric that has loaded this hides fi_dupinfo, fi_freeinfo, fi_version or fi_strerror, \
             so that it cannot be answered",
        );
        return ptr::null_mut();
    };
    let provider = Box::leak(Box::new(fi_provider {
        version: VERSION,
        // SAFETY: a function without conditions. Who says less than a program asks for is passed over.
        fi_version: unsafe { (host.version)() },
        context: fi_context {
            internal: [ptr::null_mut::<c_void>(); 4],
        },
        name: c"bcl".as_ptr(),
        getinfo: Some(getinfo::getinfo),
        fabric: Some(fabric::open),
        cleanup: None,
    }));
    settings::tell(host, provider);
    provider
}
