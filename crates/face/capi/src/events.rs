//! Taking events, waiting for them, and giving system messages back.

#![expect(missing_docs, reason = "bcl.h says what they are")]

use std::ffi::c_int;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use bcl_cface::{Face, Out, out};
use bcl_raw::{Event, SystemHandle, Which};

use crate::code::{self, Bcl, Failure};
use crate::handle::{CPort, Open};
use crate::translate::to_c;
use crate::types::CEvent;

/// `bcl_poll`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_poll(
    port: *mut CPort,
    which: c_int,
    events: *mut CEvent,
    max: c_int,
) -> c_int {
    Bcl::hot_number("bcl_poll", || {
        // SAFETY: by the contract of the header.
        let (port, mut events) =
            unsafe { (CPort::check(port)?, Places::new(events, max, "events")?) };
        let which = queue(which)?;
        port.with(|open| {
            events.take(open, which)?;
            Ok(events.count())
        })
    })
}

/// `bcl_wait`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_wait(
    port: *mut CPort,
    which: c_int,
    events: *mut CEvent,
    max: c_int,
    timeout_ms: c_int,
) -> c_int {
    Bcl::hot_number("bcl_wait", || {
        // SAFETY: by the contract of the header.
        let (port, mut events) =
            unsafe { (CPort::check(port)?, Places::new(events, max, "events")?) };
        let which = queue(which)?;
        let deadline = deadline(timeout_ms)?;
        port.wait(which, deadline, |open, event| {
            if let Some(event) = event {
                events.push_event(event);
            }
            events.take(open, which)?;
            Ok(events.count() > 0)
        })?;
        Ok(events.count())
    })
}

pub const SEND: c_int = 1;
pub const RECV: c_int = 2;
pub const ANY: c_int = 3;

fn queue(which: c_int) -> Result<Which, Failure> {
    match which {
        SEND => Ok(Which::Send),
        RECV => Ok(Which::Recv),
        ANY => Ok(Which::Any),
        other => Err(Failure::invalid(format!(
            "which is {other}: it has to be BCL_SEND, BCL_RECV or BCL_ANY"
        ))),
    }
}

/// When to give up, or `None` for never.
pub fn deadline(timeout_ms: c_int) -> Result<Option<Instant>, Failure> {
    match timeout_ms {
        -1 => Ok(None),
        0.. => Ok(Some(
            Instant::now() + Duration::from_millis(timeout_ms.unsigned_abs().into()),
        )),
        other => Err(Failure::invalid(format!(
            "timeout_ms is {other}: it has to be a time, or -1 for ever"
        ))),
    }
}

/// The program's array of events, or of what else happens, filled from the front.
#[derive(Debug)]
pub struct Places<'a, T> {
    places: &'a mut [Out<T>],
    count: c_int,
}

impl<T> Places<'_, T> {
    /// # Safety
    /// If not null, `first` is valid for writes of `max` of them.
    #[inline]
    pub unsafe fn new(first: *mut T, max: c_int, name: &str) -> Result<Self, Failure> {
        let len = usize::try_from(max)
            .ok()
            .filter(|len| *len > 0 && len.checked_mul(size_of::<T>()).is_some());
        let Some(len) = len else {
            return Err(Failure::invalid(format!(
                "max is {max}: there has to be room in {name}"
            )));
        };
        if first.is_null() || !first.is_aligned() {
            return Err(Failure::invalid(format!("{name} is NULL or not aligned")));
        }
        // SAFETY: by the contract; what is there is only written.
        let places = unsafe { std::slice::from_raw_parts_mut(first.cast(), len) };
        Ok(Self { places, count: 0 })
    }

    /// How many have been filled.
    pub fn count(&self) -> c_int {
        self.count
    }

    /// How many have not.
    pub fn free(&self) -> usize {
        self.places.len() - self.count as usize
    }

    /// Fills the next; there has to be one.
    #[inline]
    pub fn push(&mut self, value: T) {
        self.places[self.count as usize].put(value);
        self.count += 1;
    }
}

impl Places<'_, CEvent> {
    #[inline]
    fn push_event(&mut self, event: Event) {
        if let Some(event) = to_c(event) {
            self.push(event);
        }
    }

    /// Takes what is there. A failure counts only if nothing was taken before it.
    #[inline]
    fn take(&mut self, open: &mut Open, which: Which) -> Result<(), Failure> {
        while self.free() > 0 {
            match open.raw.poll(which) {
                Ok(Some(event)) => self.push_event(event),
                Ok(None) => break,
                Err(_) if self.count > 0 => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// `bcl_fd`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_fd(port: *mut CPort, fd: *mut c_int) -> c_int {
    Bcl::status("bcl_fd", || {
        // SAFETY: by the contract of the header.
        let (port, place) = unsafe { (CPort::check(port)?, out(fd, "fd")?) };
        port.with(|open| {
            place.put(open.raw.fd()?.as_raw_fd());
            Ok(())
        })
    })
}

/// `bcl_release`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_release(port: *mut CPort, event: *mut CEvent) -> c_int {
    Bcl::hot_status("bcl_release", || {
        // SAFETY: by the contract of the header.
        let port = unsafe { CPort::check(port) }?;
        if event.is_null() || !event.is_aligned() {
            return Err(Failure::invalid("event is NULL or not aligned"));
        }
        // SAFETY: not null and aligned, and an event by the contract of the header.
        let event = unsafe { &mut *event };
        if event.kind != crate::types::EVENT_MESSAGE {
            return Err(Failure::invalid(
                "event is not a BCL_EVENT_MESSAGE: nothing else is released",
            ));
        }
        let released = port.with(|open| match SystemHandle::from_words(event.handle) {
            Some(handle) => Ok(open.raw.release(&handle)?),
            None => Ok(false),
        })?;
        if !released {
            return Err(Failure::new(
                code::NOT_FOUND,
                "the message was released before, or came to another port",
            ));
        }
        event.handle = [0; 3];
        event.data = std::ptr::null();
        Ok(())
    })
}
