//! Messages on the system channel and on normal channels.

use std::ffi::c_int;

use bcl_cface::{Face, out, range};
use bcl_raw::{Address, EAGER_MAX};
use bcl_raw::{Buffer, DmaBuffer, Memory, Pieces, Source};

use crate::code::{Bcl, Failure};
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
    let message = Outgoing {
        to,
        channel,
        immediate: 0,
        cookie,
    };
    // SAFETY: by the contract of the header.
    Bcl::hot_status("bcl_send", || unsafe { send(port, &message, data, len) })
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
    let message = Outgoing {
        to,
        channel,
        immediate,
        cookie,
    };
    // SAFETY: by the contract of the header.
    Bcl::hot_status("bcl_send_immediate", || unsafe {
        send(port, &message, data, len)
    })
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
    Bcl::hot_status("bcl_send_registered", || {
        // SAFETY: by the contract of the header.
        let (port, memory) = unsafe { (CPort::check(port)?, CMemory::check(memory)?) };
        let (data, memory) = memory.part(offset, len)?;
        let message = Outgoing {
            to,
            channel,
            immediate: 0,
            cookie,
        };
        // SAFETY: within the memory that was registered, which stays by the contract of the header.
        port.with(|open| unsafe { message.send(open, data, len, |_| memory) })
    })
}

/// # Safety
/// As in `bcl.h`.
#[inline]
unsafe fn send(
    port: *mut CPort,
    message: &Outgoing,
    data: *const u8,
    len: usize,
) -> Result<(), Failure> {
    // SAFETY: by the contract of the header.
    let port = unsafe { CPort::check(port) }?;
    range(data, len, "data")?;
    port.with(|open| {
        let find = |open: &mut Open| open.find(data, len);
        // SAFETY: checked as far as possible, else by the contract of the header.
        unsafe { message.send(open, data, len, find) }
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
    Bcl::hot_status("bcl_send_unreliable", || {
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
    Bcl::status("bcl_unreliable_max", || {
        // SAFETY: by the contract of the header.
        let (port, place) = unsafe { (CPort::check(port)?, out(len, "len")?) };
        port.with(|open| {
            place.put(open.raw.unreliable_max(to.into())?);
            Ok(())
        })
    })
}

/// A message, but for what it holds.
struct Outgoing {
    to: CAddress,
    channel: u16,
    immediate: u64,
    cookie: u64,
}

impl Outgoing {
    /// Sends it; `find` says which DMA buffer it lies in, if that matters.
    ///
    /// # Safety
    /// `data` is null, and `len` 0, or valid for reads of `len` bytes; on a normal channel until the operation completes.
    #[inline]
    unsafe fn send(
        &self,
        open: &mut Open,
        data: *const u8,
        len: usize,
        find: impl FnOnce(&mut Open) -> Option<Memory>,
    ) -> Result<(), Failure> {
        let &Self {
            channel,
            immediate,
            cookie,
            ..
        } = self;
        let to = Address::from(self.to);
        if channel == 0 {
            // SAFETY: by the contract.
            let data = unsafe { bytes(data, len) };
            return Ok(open.raw.send_system(to, data, immediate, cookie)?);
        }
        let memory = find(open);
        // What travels with its announcement is copied there, wherever it lies.
        let region = memory.as_ref().map(|(_, place)| *place);
        let source = Source {
            memory: Pieces::one(data.cast_mut(), len),
            region: region.filter(|_| len > EAGER_MAX),
        };
        let held = memory.map(|(region, _)| Buffer::Dma(DmaBuffer::of(region)));
        // SAFETY: by the contract, and a DMA buffer is held until then.
        unsafe { open.raw.send(to, channel, source, immediate, held, cookie) }?;
        Ok(())
    }
}

/// `bcl_cancel_send`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_cancel_send(port: *mut CPort, to: CAddress, cookie: u64) -> c_int {
    Bcl::status("bcl_cancel_send", || {
        // SAFETY: by the contract of the header.
        let port = unsafe { CPort::check(port) }?;
        port.with(|open| Ok(open.raw.cancel_send(Address::from(to), cookie)?))
    })
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
    Bcl::hot_status("bcl_post", || {
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
    Bcl::status("bcl_cancel_post", || {
        // SAFETY: by the contract of the header.
        let port = unsafe { CPort::check(port) }?;
        port.with(|open| Ok(open.raw.cancel_post(channel, cookie)?))
    })
}
