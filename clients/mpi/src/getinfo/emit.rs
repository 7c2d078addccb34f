//! An offer as the host's `fi_info`: allocated by the host, which will free it, and knows how long its structures are.

use std::ffi::{CStr, c_void};
use std::ptr;

use super::offer::Offer;
use crate::abi::{FI_ENOMEM, fi_info};
use crate::call::Failure;
use crate::host::Host;
use crate::name::{FI_ADDR_BCL, Name};
use crate::provider::VERSION;

/// What domain and fabric are called.
const NAME: &CStr = c"bcl";

/// Makes an `fi_info`.
///
/// # Errors
/// If there is no memory.
pub fn emit(host: &Host, offer: &Offer) -> Result<*mut fi_info, Failure> {
    // SAFETY: null asks for an empty one, with all attributes.
    let info = unsafe { (host.dupinfo)(ptr::null()) };
    if info.is_null() {
        return Err(out_of_memory());
    }
    // SAFETY: just made, and nobody else's.
    let filled = unsafe { fill(info, offer) };
    if filled.is_none() {
        // SAFETY: from the host, and used by nobody.
        unsafe { (host.freeinfo)(info) };
    }
    filled.ok_or_else(out_of_memory)
}

/// # Safety
/// `info` is from the host, empty, and has all attributes.
unsafe fn fill(info: *mut fi_info, offer: &Offer) -> Option<*mut fi_info> {
    // SAFETY: by the contract. The host's attributes are as long as ours or longer, and what it frees comes from malloc.
    unsafe {
        let info = &mut *info;
        info.caps = offer.caps;
        info.addr_format = FI_ADDR_BCL;
        *info.tx_attr = offer.tx;
        *info.rx_attr = offer.rx;
        *info.ep_attr = offer.ep;
        *info.domain_attr = offer.domain;
        (*info.domain_attr).name = copy(NAME.to_bytes_with_nul())?.cast();
        (*info.fabric_attr).name = copy(NAME.to_bytes_with_nul())?.cast();
        (*info.fabric_attr).prov_version = VERSION;
        info.src_addr = copy(&offer.ends.source.to_bytes())?;
        info.src_addrlen = Name::LEN;
        if let Some(name) = offer.ends.destination {
            info.dest_addr = copy(&name.to_bytes())?;
            info.dest_addrlen = Name::LEN;
        }
    }
    Some(info)
}

/// Bytes that the host frees.
fn copy(bytes: &[u8]) -> Option<*mut c_void> {
    // SAFETY: as long as the bytes, which are copied there.
    unsafe {
        let place = libc::malloc(bytes.len());
        (!place.is_null()).then(|| libc::memcpy(place, bytes.as_ptr().cast(), bytes.len()))
    }
}

fn out_of_memory() -> Failure {
    Failure::new(FI_ENOMEM, "there is no memory for an fi_info")
}
