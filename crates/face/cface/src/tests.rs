//! A library of two kinds of objects, called as a C program would.

mod calls;
mod handles;

use std::ffi::{CStr, c_int};
use std::sync::mpsc::{Receiver, Sender, channel};

use bcl_raw::Error;

use crate::handle::Lock;
use crate::{Face, Failure, Handle, Inside, last_error};

#[derive(Debug)]
struct Fake;

const INVALID: c_int = -22;
const INTERNAL: c_int = -5;
const CLOSED: c_int = -108;
const FORKED: c_int = -10;
const OTHER: c_int = -1;

impl Face for Fake {
    const INVALID: c_int = INVALID;
    const INTERNAL: c_int = INTERNAL;

    fn code_of(error: &Error) -> c_int {
        match error {
            Error::Closed => CLOSED,
            Error::Forked => FORKED,
            _ => OTHER,
        }
    }
}

/// Closing tells those that wait; dropping tells the test.
struct Lamp {
    /// Taken when the lamp is closed.
    waking: Option<Sender<()>>,
    dropped: Sender<()>,
}

impl Inside for Lamp {
    type Face = Fake;
    const MAGIC: u64 = 1;
    const NAME: &str = "lamp";
    const OPENER: &str = "lamp_open";

    fn close(&mut self) -> Result<(), Error> {
        self.waking.take().map(drop).ok_or(Error::Closed)
    }
}

impl Drop for Lamp {
    fn drop(&mut self) {
        let _ = self.dropped.send(());
    }
}

/// Smaller than a lamp, and of the same library.
struct Switch;

impl Inside for Switch {
    type Face = Fake;
    const MAGIC: u64 = 2;
    const NAME: &str = "switch";
    const OPENER: &str = "switch_open";

    fn close(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// A lamp, what is told when it closes and what when it is dropped.
fn open(one_thread: bool) -> (Pointer, Receiver<()>, Receiver<()>) {
    let (waking, woken) = channel();
    let (dropped, was_dropped) = channel();
    let lamp = Lamp {
        waking: Some(waking),
        dropped,
    };
    (Pointer(Handle::open(lamp, one_thread)), woken, was_dropped)
}

/// The program's, which gives it to all of its threads.
#[derive(Clone, Copy)]
struct Pointer(*mut Handle<Lamp>);

// SAFETY: the calls are made for threads.
unsafe impl Send for Pointer {}

impl Pointer {
    fn call(self) -> c_int {
        Fake::hot_status("lamp_call", || {
            // SAFETY: a null pointer, one that came from `open`, or one that leads to a word.
            unsafe { Handle::check(self.0) }?.with(|_| Ok(()))
        })
    }

    fn close(self) -> c_int {
        // SAFETY: as in `call`.
        Fake::status("lamp_close", || unsafe { Handle::close(self.0) })
    }

    /// Waits as a guest; `waiting` says that it begins.
    fn wait(self, waiting: &Sender<()>, wait: impl FnOnce()) -> c_int {
        Fake::hot_status("lamp_wait", || {
            // SAFETY: as in `call`.
            let handle = unsafe { Handle::check(self.0) }?;
            handle.aside(
                |_| Ok(()),
                |()| {
                    waiting.send(()).unwrap();
                    wait();
                    handle.with(|lamp| match lamp.waking {
                        Some(_) => Ok(()),
                        None => Err(Error::Closed.into()),
                    })
                },
            )
        })
    }
}

fn sentence() -> String {
    // SAFETY: the sentence of this thread, which makes no call meanwhile.
    let text = unsafe { CStr::from_ptr(last_error()) };
    text.to_str().unwrap().to_owned()
}
