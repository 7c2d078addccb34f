//! Windows, and one-sided operations on those of others.

use std::ffi::c_int;

use bcl_cface::{Face, range};
use bcl_raw::Access;
use bcl_raw::{Action, Atomic, Buffer, DmaBuffer, Memory};

use crate::code::{Bcl, Failure};
use crate::handle::CPort;
use crate::types::CAddress;

/// `bcl_bind`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_bind(
    port: *mut CPort,
    window: u16,
    memory: *mut u8,
    len: usize,
    access: u32,
) -> c_int {
    Bcl::status("bcl_bind", || {
        // SAFETY: by the contract of the header.
        let port = unsafe { CPort::check(port) }?;
        range(memory, len, "memory")?;
        let access = Access::from_bits(access).ok_or_else(|| {
            Failure::invalid(format!(
                "access is {access:#x}: combine BCL_ACCESS_GET, BCL_ACCESS_PUT, BCL_ACCESS_ATOMIC and BCL_ACCESS_NOTIFY"
            ))
        })?;
        port.with(|open| {
            let held = open.find(memory, len);
            // SAFETY: by the contract of the header the memory stays until it is unbound.
            unsafe { open.raw.bind(window, memory, len, access) }?;
            if let Some((region, _)) = held {
                open.windows.insert(window, region);
            }
            Ok(())
        })
    })
}

/// `bcl_unbind`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_unbind(port: *mut CPort, window: u16) -> c_int {
    Bcl::status("bcl_unbind", || {
        // SAFETY: by the contract of the header.
        let port = unsafe { CPort::check(port) }?;
        port.with(|open| {
            open.raw.unbind(window)?;
            open.windows.remove(&window);
            Ok(())
        })
    })
}

/// `bcl_put`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_put(
    port: *mut CPort,
    to: CAddress,
    window: u16,
    offset: u64,
    data: *const u8,
    len: usize,
    cookie: u64,
) -> c_int {
    Bcl::hot_status("bcl_put", || {
        range(data, len, "data")?;
        let action = Action::Put {
            from: data,
            len_bytes: len,
        };
        // SAFETY: by the contract of the header the memory stays until the event is taken.
        unsafe { start(port, to, window, offset, action, (data, len), cookie) }
    })
}

/// `bcl_get`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_get(
    port: *mut CPort,
    from: CAddress,
    window: u16,
    offset: u64,
    buffer: *mut u8,
    len: usize,
    cookie: u64,
) -> c_int {
    Bcl::hot_status("bcl_get", || {
        range(buffer, len, "buffer")?;
        let action = Action::Get {
            to: buffer,
            len_bytes: len,
        };
        // SAFETY: as in `bcl_put`.
        unsafe { start(port, from, window, offset, action, (buffer, len), cookie) }
    })
}

/// `bcl_fetch_add`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_fetch_add(
    port: *mut CPort,
    peer: CAddress,
    window: u16,
    offset: u64,
    add: u64,
    cookie: u64,
) -> c_int {
    Bcl::hot_status("bcl_fetch_add", || {
        let action = Action::Atomic(Atomic::FetchAdd(add));
        // SAFETY: no memory of this process takes part.
        unsafe { start(port, peer, window, offset, action, NO_MEMORY, cookie) }
    })
}

/// `bcl_compare_swap`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_compare_swap(
    port: *mut CPort,
    peer: CAddress,
    window: u16,
    offset: u64,
    expected: u64,
    desired: u64,
    cookie: u64,
) -> c_int {
    Bcl::hot_status("bcl_compare_swap", || {
        let new = desired;
        let action = Action::Atomic(Atomic::CompareSwap { expected, new });
        // SAFETY: no memory of this process takes part.
        unsafe { start(port, peer, window, offset, action, NO_MEMORY, cookie) }
    })
}

const NO_MEMORY: (*const u8, usize) = (std::ptr::null(), 0);

/// # Safety
/// `port` came from `bcl_open`, and the memory in `action`, which is `memory`, stays until the event is taken.
unsafe fn start(
    port: *mut CPort,
    peer: CAddress,
    window: u16,
    offset: u64,
    action: Action,
    memory: (*const u8, usize),
    cookie: u64,
) -> Result<(), Failure> {
    // SAFETY: by the contract.
    let port = unsafe { CPort::check(port) }?;
    port.with(|open| {
        let held = open.find(memory.0, memory.1);
        let held = held.map(|(region, _): Memory| Buffer::Dma(DmaBuffer::of(region)));
        // SAFETY: by the contract, and a DMA buffer is held until then.
        Ok(unsafe {
            open.raw
                .rma(peer.into(), window, offset, action, held, cookie)
        }?)
    })
}
