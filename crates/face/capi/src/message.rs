//! Messages on the system channel and on normal channels.

use std::ffi::c_int;

use bcl_raw::{Address, EAGER_MAX};
use bcl_raw::{Buffer, DmaBuffer, Memory, Source};

use crate::call::{self, Failure, out, range};
use crate::handle::{CPort, Open};
use crate::memory::CMemory;
use crate::types::CAddress;

/// `bcl_send`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_send(
    port: *mut CPort,
    to: CAddress,
    channel: u16,
    data: *const u8,
    len: usize,
    cookie: u64,
) -> c_int {
    // SAFETY: by the contract of the header.
    call::hot_status("bcl_send", || unsafe {
        send(port, to, channel, data, len, 0, cookie)
    })
}

/// `bcl_send_immediate`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_send_immediate(
    port: *mut CPort,
    to: CAddress,
    channel: u16,
    data: *const u8,
    len: usize,
    immediate: u64,
    cookie: u64,
) -> c_int {
    // SAFETY: by the contract of the header.
    call::hot_status("bcl_send_immediate", || unsafe {
        send(port, to, channel, data, len, immediate, cookie)
    })
}

/// # Safety
/// As in `bcl.h`.
#[inline]
unsafe fn send(
    port: *mut CPort,
    to: CAddress,
    channel: u16,
    data: *const u8,
    len: usize,
    immediate: u64,
    cookie: u64,
) -> Result<(), Failure> {
    // SAFETY: by the contract of the header.
    let port = unsafe { CPort::check(port) }?;
    range(data, len, "data")?;
    port.with(|open| {
        if channel == 0 {
            // SAFETY: checked as far as possible, else by the contract of the header.
            return unsafe { send_system(open, to.into(), data, len, immediate, cookie) };
        }
        let message = Outgoing {
            to: to.into(),
            channel,
            immediate,
            cookie,
        };
        let memory = open.find(data, len);
        // SAFETY: by the contract of the header the memory stays until the event is taken.
        unsafe { send_normal(open, &message, data, len, memory) }
    })
}

/// A message for a normal channel, but for what it holds.
struct Outgoing {
    to: Address,
    channel: u16,
    immediate: u64,
    cookie: u64,
}

/// `bcl_send_registered`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_send_registered(
    port: *mut CPort,
    to: CAddress,
    channel: u16,
    memory: *const CMemory,
    offset: usize,
    len: usize,
    cookie: u64,
) -> c_int {
    call::hot_status("bcl_send_registered", || {
        // SAFETY: by the contract of the header.
        let (port, memory) = unsafe { (CPort::check(port)?, CMemory::check(memory)?) };
        let (data, memory) = memory.part(offset, len)?;
        port.with(|open| {
            if channel == 0 {
                // SAFETY: within the memory that was registered.
                return unsafe { send_system(open, to.into(), data, len, 0, cookie) };
            }
            let message = Outgoing {
                to: to.into(),
                channel,
                immediate: 0,
                cookie,
            };
            // SAFETY: within the memory that was registered, which stays by the contract of the header.
            unsafe { send_normal(open, &message, data, len, memory) }
        })
    })
}

/// `bcl_send_unreliable`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_send_unreliable(
    port: *mut CPort,
    to: CAddress,
    data: *const u8,
    len: usize,
) -> c_int {
    call::hot_status("bcl_send_unreliable", || {
        // SAFETY: by the contract of the header.
        let port = unsafe { CPort::check(port) }?;
        range(data, len, "data")?;
        // SAFETY: checked as far as possible, else by the contract of the header.
        let data = unsafe { bytes(data, len) };
        port.with(|open| Ok(open.raw.send_unreliable(to.into(), data)?))
    })
}

/// `bcl_unreliable_max`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_unreliable_max(
    port: *mut CPort,
    to: CAddress,
    len: *mut usize,
) -> c_int {
    call::status("bcl_unreliable_max", || {
        // SAFETY: by the contract of the header.
        let (port, place) = unsafe { (CPort::check(port)?, out(len, "len")?) };
        port.with(|open| {
            place.put(open.raw.unreliable_max(to.into())?);
            Ok(())
        })
    })
}

/// # Safety
/// `data` is null or valid for reads of `len` bytes.
unsafe fn send_system(
    open: &mut Open,
    to: Address,
    data: *const u8,
    len: usize,
    immediate: u64,
    cookie: u64,
) -> Result<(), Failure> {
    // SAFETY: by the contract.
    let data = unsafe { bytes(data, len) };
    Ok(open.raw.send_system(to, data, immediate, cookie)?)
}

/// # Safety
/// `data` is null, and `len` 0, or valid for reads of `len` bytes for as long as the result is used.
unsafe fn bytes<'a>(data: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(data, len) }
}

/// # Safety
/// `data` is null or valid for reads of `len` bytes until the operation completes.
unsafe fn send_normal(
    open: &mut Open,
    message: &Outgoing,
    data: *const u8,
    len: usize,
    memory: Option<Memory>,
) -> Result<(), Failure> {
    let Outgoing {
        to,
        channel,
        immediate,
        cookie,
    } = *message;
    // What travels with its announcement is copied there, wherever it lies.
    let region = memory.as_ref().map(|(_, place)| *place);
    let source = Source {
        start: data,
        len_bytes: len,
        region: region.filter(|_| len > EAGER_MAX),
    };
    let held = memory.map(|(region, _)| Buffer::Dma(DmaBuffer::of(region)));
    // SAFETY: by the contract, and a DMA buffer is held until then.
    Ok(unsafe { open.raw.send(to, channel, source, immediate, held, cookie) }?)
}

/// `bcl_post`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_post(
    port: *mut CPort,
    channel: u16,
    buffer: *mut u8,
    len: usize,
    cookie: u64,
) -> c_int {
    call::hot_status("bcl_post", || {
        // SAFETY: by the contract of the header.
        let port = unsafe { CPort::check(port) }?;
        range(buffer, len, "buffer")?;
        port.with(|open| {
            let held = open
                .find(buffer, len)
                .map(|(region, _)| Buffer::Dma(DmaBuffer::of(region)));
            // SAFETY: by the contract of the header the memory is left alone until the event is taken.
            Ok(unsafe { open.raw.post(channel, buffer, len, held, cookie) }?)
        })
    })
}

/// `bcl_cancel_post`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_cancel_post(port: *mut CPort, channel: u16, cookie: u64) -> c_int {
    call::status("bcl_cancel_post", || {
        // SAFETY: by the contract of the header.
        let port = unsafe { CPort::check(port) }?;
        port.with(|open| Ok(open.raw.cancel_post(channel, cookie)?))
    })
}
