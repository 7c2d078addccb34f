//! The libfabric that has loaded us, and what we need of it.
//!
//! We are not linked to it: that would bind us to the oldest form of its functions, which know older structures. What
//! dlsym(3) finds are the newest. Which library to ask is not always the one that everybody sees: MPI libraries bring
//! copies of their own, several in one process. So we ask the one that is calling.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use crate::abi::{fi_info, fi_provider};

/// How deep `fi_prov_ini` and what it calls may be.
const FRAMES: usize = 16;

/// Functions of libfabric.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// `fi_dupinfo`
    pub dupinfo: unsafe extern "C" fn(*const fi_info) -> *mut fi_info,
    /// `fi_freeinfo`
    pub freeinfo: unsafe extern "C" fn(*mut fi_info),
    /// `fi_version`
    pub version: unsafe extern "C" fn() -> u32,
    /// `fi_strerror`
    pub strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    /// `fi_param_define`; one that does not have it lists no settings, and lacks nothing else.
    pub param_define: Option<ParamDefine>,
}

/// Provider, name, type, and a format for the help with what that takes.
pub type ParamDefine =
    unsafe extern "C" fn(*const fi_provider, *const c_char, c_int, *const c_char, ...) -> c_int;

static HOST: OnceLock<Option<Host>> = OnceLock::new();

unsafe extern "C" {
    /// Of the C library: the addresses that this call returns to.
    fn backtrace(places: *mut *mut c_void, count: c_int) -> c_int;
}

impl Host {
    /// To be called first where libfabric calls us first: it is looked for where the call comes from.
    pub fn find() -> Option<&'static Self> {
        HOST.get_or_init(|| {
            let from_caller = caller().and_then(|library| {
                // SAFETY: the name of a library that is loaded, which this only finds again.
                let handle =
                    unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
                // The count that this adds stays, for the functions are to stay.
                if handle.is_null() {
                    None
                } else {
                    Self::of(handle)
                }
            });
            from_caller.or_else(|| Self::of(libc::RTLD_DEFAULT))
        })
        .as_ref()
    }

    /// The one found before, by objects that only it can have asked for.
    pub fn get() -> Option<&'static Self> {
        HOST.get().and_then(Option::as_ref)
    }

    fn of(handle: *mut c_void) -> Option<Self> {
        // SAFETY: a handle, and a string.
        let find = |name: &CStr| unsafe { libc::dlsym(handle, name.as_ptr()) };
        let all = [c"fi_dupinfo", c"fi_freeinfo", c"fi_version", c"fi_strerror"].map(find);
        if all.contains(&ptr::null_mut()) {
            return None;
        }
        let [dupinfo, freeinfo, version, strerror] = all;
        let param_define = find(c"fi_param_define");
        // SAFETY: not null, or null where there is an option, and by libfabric's headers these are their types.
        unsafe {
            Some(Self {
                dupinfo: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*const fi_info) -> *mut fi_info,
                >(dupinfo),
                freeinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut fi_info)>(
                    freeinfo,
                ),
                version: std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> u32>(version),
                strerror: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(c_int) -> *const c_char,
                >(strerror),
                param_define: std::mem::transmute::<*mut c_void, Option<ParamDefine>>(param_define),
            })
        }
    }
}

/// The library that has called ours: that of the first frame which is not in ours.
fn caller() -> Option<CString> {
    let mut places = [ptr::null_mut(); FRAMES];
    // SAFETY: there is room for as many.
    let count = unsafe { backtrace(places.as_mut_ptr(), FRAMES as c_int) };
    let ours = library_of(caller as *const c_void)?.1;
    let places = places.iter().take(usize::try_from(count).unwrap_or(0));
    let mut libraries = places.filter_map(|place| library_of(*place));
    libraries
        .find(|(_, base)| *base != ours)
        .map(|(name, _)| name)
}

/// Name and beginning of the library that has this address.
fn library_of(address: *const c_void) -> Option<(CString, *mut c_void)> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: looks an address up, whatever it is.
    if unsafe { libc::dladdr(address, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: zeros are a value, and it was filled in.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's name of the library, which stays loaded meanwhile: we are called from it.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some((name.to_owned(), info.dli_fbase))
}
