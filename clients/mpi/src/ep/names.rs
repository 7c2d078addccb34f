//! What an endpoint is called: `fi_getname`, `fi_setname`. Connections there are none.

use std::ffi::{c_int, c_void};
use std::{ptr, slice};

use bcl_node::detect_node;
use bcl_types::Address;

use super::Ep;
use crate::abi::*;
use crate::call::{self, Failure};
use crate::name::Name;
use crate::object::of;

pub(super) static OPS: fi_ops_cm = fi_ops_cm {
    size: size_of::<fi_ops_cm>(),
    setname: Some(no_setname),
    getname: Some(getname),
    getpeer: Some(no_getpeer),
    connect: Some(no_connect),
    listen: None,
    accept: Some(no_accept),
    reject: None,
    shutdown: Some(no_shutdown),
    join: Some(no_join),
};

/// Where an endpoint is to be: what `fi_getinfo` has found, or the program has put there.
///
/// # Safety
/// What is in the fi_info can be read.
pub(super) unsafe fn wanted(info: &fi_info) -> Result<Name, Failure> {
    if info.src_addr.is_null() {
        let (node, _) = detect_node().map_err(|error| Failure::invalid(error.to_string()))?;
        return Ok(Name::open(Address { node, port: 0 }));
    }
    // SAFETY: by the contract.
    let bytes = unsafe { slice::from_raw_parts(info.src_addr.cast::<u8>(), info.src_addrlen) };
    Name::from_bytes(bytes).map_err(|why| Failure::invalid(format!("src_addr: {why}")))
}

unsafe extern "C" fn getname(ep: *mut fid, place: *mut c_void, len: *mut usize) -> c_int {
    let mut is_short = false;
    let status = call::status("fi_getname", || {
        // SAFETY: an endpoint of ours, by the contract of the caller.
        let data = unsafe { of::<Ep, _>(ep) }.data()?;
        let address = data.port.with(|endpoint| Ok(endpoint.address()));
        let address = address.map_err(|error| Failure::new(FI_EIO, error.to_string()))?;
        let name = Name {
            address,
            secret: data.secret,
        };
        let name = name.to_bytes();
        // SAFETY: a length, and room for so many bytes, by the contract of the caller.
        unsafe {
            let room = len.replace(name.len());
            ptr::copy_nonoverlapping(name.as_ptr(), place.cast(), room.min(name.len()));
            is_short = room < name.len();
        }
        Ok(())
    });
    match is_short {
        // Programs ask for the length so.
        true => -FI_ETOOSMALL,
        false => status,
    }
}

unsafe extern "C" fn no_setname(_: *mut fid, _: *mut c_void, _: usize) -> c_int {
    call::status("fi_setname", || {
        Err(Failure::unsupported(
            "an endpoint of BCL is where the src_addr of its fi_info says: put the name there",
        ))
    })
}

fn without_connections(call: &str) -> c_int {
    call::status(call, || {
        Err(Failure::unsupported(
            "endpoints of BCL reach each other without connections",
        ))
    })
}

unsafe extern "C" fn no_getpeer(_: *mut fid_ep, _: *mut c_void, _: *mut usize) -> c_int {
    without_connections("fi_getpeer")
}

unsafe extern "C" fn no_connect(
    _: *mut fid_ep,
    _: *const c_void,
    _: *const c_void,
    _: usize,
) -> c_int {
    without_connections("fi_connect")
}

unsafe extern "C" fn no_accept(_: *mut fid_ep, _: *const c_void, _: usize) -> c_int {
    without_connections("fi_accept")
}

unsafe extern "C" fn no_shutdown(_: *mut fid_ep, _: u64) -> c_int {
    without_connections("fi_shutdown")
}

unsafe extern "C" fn no_join(
    _: *mut fid_ep,
    _: *const c_void,
    _: u64,
    _: *mut *mut c_void,
    _: *mut c_void,
) -> c_int {
    call::status("fi_join", || {
        Err(Failure::unsupported(
            "there is no multicast by this interface",
        ))
    })
}
