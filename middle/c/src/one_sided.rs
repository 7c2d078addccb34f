//! Memory that peers reach.

use std::ffi::c_int;

use bcl_adi::{Access, Atomic, Datum, Function, Memory, OneSided, Region, What};
use bcl_capi::code::{self, Bcl, Failure};
use bcl_cface::{Face, range};

use crate::endpoint::{CEndpoint, with};
use crate::messages::{given, zero};
use crate::types::{CChange, CPlace};

/// `bcl_adi_expose`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_expose(
    endpoint: *mut CEndpoint,
    key: u64,
    memory: *mut u8,
    len: usize,
    first_address: u64,
    access: u32,
) -> c_int {
    Bcl::status("bcl_adi_expose", || {
        range(memory, len, "memory")?;
        let permitted = Access::from_bits(access).filter(|access| {
            *access != Access::NONE && (Access::GET | Access::PUT).contains(*access)
        });
        let Some(access) = permitted else {
            return Err(Failure::invalid(format!(
                "access is {access:#x}: it is BCL_ACCESS_GET, BCL_ACCESS_PUT, or both"
            )));
        };
        let region = Region {
            start: memory as usize,
            len_bytes: len,
            first_address,
            access,
        };
        // SAFETY: by the contract of the header.
        let endpoint = unsafe { CEndpoint::check(endpoint) }?;
        endpoint.with(|open| {
            let busy = || {
                let text =
                    format!("key {key:#x} has a region: hide that first, or take another key");
                Failure::new(code::BUSY, text)
            };
            if open.hidden.contains_key(&key) {
                return Err(busy());
            }
            let regions = open
                .shared
                .with(|endpoint| Ok(endpoint.regions().clone()))
                .map_err(crate::endpoint::refused)?;
            // SAFETY: by the contract of the header.
            match unsafe { regions.expose(key, region) } {
                true => Ok(()),
                false => Err(busy()),
            }
        })
    })
}

/// `bcl_adi_hide`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_hide(endpoint: *mut CEndpoint, key: u64) -> c_int {
    Bcl::status("bcl_adi_hide", || {
        // SAFETY: by the contract of the header.
        let endpoint = unsafe { CEndpoint::check(endpoint) }?;
        endpoint.with(|open| {
            let hidden = open
                .shared
                .with(|endpoint| Ok(endpoint.regions().hide(key)))
                .map_err(crate::endpoint::refused)?;
            let Some(hidden) = hidden.or_else(|| open.hidden.remove(&key)) else {
                let text = format!("key {key:#x} has no region");
                return Err(Failure::new(code::NOT_FOUND, text));
            };
            if hidden.is_over() {
                return Ok(());
            }
            open.hidden.insert(key, hidden);
            let text = format!("the memory of key {key:#x} is still in use: poll, then try again");
            Err(Failure::new(code::BUSY, text))
        })
    })
}

/// `bcl_adi_put`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_put(
    endpoint: *mut CEndpoint,
    place: *const CPlace,
    data: *const u8,
    len: usize,
    notice: *const u64,
    context: u64,
) -> c_int {
    Bcl::hot_status("bcl_adi_put", || {
        range(data, len, "data")?;
        let notice = match notice.is_null() {
            true => None,
            // SAFETY: by the contract of the header.
            false => Some(unsafe { given(notice, "notice") }?),
        };
        let what = What::Put {
            memory: Memory::to_read(data, len),
            data: notice,
        };
        // SAFETY: by the contract of the header.
        unsafe { begin(endpoint, place, what, context) }
    })
}

/// `bcl_adi_get`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_get(
    endpoint: *mut CEndpoint,
    place: *const CPlace,
    buffer: *mut u8,
    len: usize,
    context: u64,
) -> c_int {
    Bcl::hot_status("bcl_adi_get", || {
        range(buffer, len, "buffer")?;
        let memory = Memory::one(buffer, len);
        // SAFETY: by the contract of the header.
        unsafe { begin(endpoint, place, What::Get { memory }, context) }
    })
}

/// `bcl_adi_atomic`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_atomic(
    endpoint: *mut CEndpoint,
    place: *const CPlace,
    change: *const CChange,
    context: u64,
) -> c_int {
    Bcl::hot_status("bcl_adi_atomic", || {
        // SAFETY: by the contract of the header.
        let change = unsafe { given(change, "change") }?;
        zero(change.reserved)?;
        let atomic = atomic_of(change.function, change.kind)?;
        let len = (change.count as usize).saturating_mul(atomic.datum().size_bytes());
        let part = |start: *const u8, is_needed, name| {
            let len = if is_needed { len } else { 0 };
            range(start, len, name)?;
            Ok::<_, Failure>(Memory::to_read(start, len))
        };
        let function = atomic.function();
        let what = What::Atomic {
            atomic,
            count: change.count,
            operands: part(change.operands, function.has_operand(), "operands")?,
            compared: part(change.compared, function.compares(), "compared")?,
            found: match change.found.is_null() {
                true => None,
                false => Some(part(change.found, true, "found")?),
            },
        };
        // SAFETY: by the contract of the header.
        unsafe { begin(endpoint, place, what, context) }
    })
}

/// What the numbers of a function and of a type of elements stand for.
pub fn atomic_of(function: u32, kind: u32) -> Result<Atomic, Failure> {
    let found = Function::ALL
        .into_iter()
        .find(|known| *known as u32 == function);
    let datum = Datum::ALL.into_iter().find(|datum| *datum as u32 == kind);
    let (Some(function), Some(datum)) = (found, datum) else {
        return Err(Failure::invalid(format!(
            "function is {function} and type {kind}: they are BCL_ADI_MIN and so on, and BCL_ADI_INT8 and so on"
        )));
    };
    Atomic::new(function, datum).ok_or_else(|| {
        Failure::invalid(format!(
            "{function:?} is not defined for {datum:?}: bits are those of integers, and complex numbers have no order"
        ))
    })
}

/// # Safety
/// As in `bcl_adi.h`.
unsafe fn begin(
    endpoint: *mut CEndpoint,
    place: *const CPlace,
    what: What,
    context: u64,
) -> Result<(), Failure> {
    // SAFETY: by the contract.
    let place = unsafe { given(place, "place") }?;
    let asked = OneSided {
        to: place.owner.into(),
        key: place.key,
        address: place.address,
        what,
        context,
        mark: 0,
        quiet: false,
        injects: false,
    };
    // SAFETY: by the contract.
    unsafe { with(endpoint, |endpoint| endpoint.one_sided(asked)) }
}
