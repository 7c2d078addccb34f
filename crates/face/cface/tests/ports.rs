//! Waiting for events of a port inside a handle, alone and among threads.

use std::ffi::c_int;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bcl_cface::{Face, Failure, Handle, Inside};
use bcl_raw::{Channels, Device, Error, Event, HasPort, Options, RawPort, Which};

#[derive(Debug)]
struct Fake;

const CLOSED: c_int = -108;

impl Face for Fake {
    const INVALID: c_int = -22;
    const INTERNAL: c_int = -5;

    fn code_of(error: &Error) -> c_int {
        match error {
            Error::Closed => CLOSED,
            _ => -1,
        }
    }
}

struct Line(RawPort);

impl Inside for Line {
    type Face = Fake;
    const MAGIC: u64 = 3;
    const NAME: &str = "line";
    const OPENER: &str = "line_open";

    fn close(&mut self) -> Result<(), Error> {
        self.0.close()
    }
}

impl HasPort for Line {
    type Matcher = Channels;

    fn port(&mut self) -> &mut RawPort {
        &mut self.0
    }
}

#[derive(Clone, Copy)]
struct Pointer(*mut Handle<Line>);

// SAFETY: the calls are made for threads.
unsafe impl Send for Pointer {}

impl Pointer {
    fn open(one_thread: bool) -> Self {
        let options = Options {
            folder: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("cface")),
            device: Some(Some(Device::Shm)),
            ..Options::default()
        };
        let port = options.open().expect("a port can be opened");
        Self(Handle::open(Line(port), one_thread))
    }

    fn handle<'a>(self) -> &'a Handle<Line> {
        // SAFETY: it came from `open`, and closed ones are kept.
        unsafe { Handle::check(self.0) }.expect("a line")
    }

    /// Sends itself messages of one byte: their numbers.
    fn send(self, numbers: impl Iterator<Item = u8>) {
        let sent = self.handle().with(|line| {
            let to = line.0.address();
            for number in numbers {
                line.0.send_system(to, &[number], 0, bcl_raw::QUIET)?;
            }
            Ok(())
        });
        sent.expect("messages are sent");
    }

    /// Waits until `count` messages have come: how many did.
    fn wait(self, count: usize, deadline: Option<Instant>) -> Result<usize, Failure<Fake>> {
        let mut messages = 0;
        self.handle().wait(Which::Any, deadline, |_, event| {
            messages += usize::from(matches!(event, Some(Event::Message(_))));
            Ok(messages == count)
        })?;
        Ok(messages)
    }

    fn close(self) -> c_int {
        // SAFETY: as in `handle`.
        Fake::status("line_close", || unsafe { Handle::close(self.0) })
    }
}

#[test]
fn events_are_taken_until_they_are_enough() {
    for one_thread in [false, true] {
        let line = Pointer::open(one_thread);
        line.send(0..5);
        assert_eq!(line.wait(3, None).unwrap(), 3);
        assert_eq!(line.wait(2, None).unwrap(), 2);
        assert_eq!(line.close(), 0);
    }
}

#[test]
fn what_is_there_already_may_be_enough() {
    for one_thread in [false, true] {
        let line = Pointer::open(one_thread);
        let mut asked = Vec::new();
        let waited = line.handle().wait(Which::Any, None, |_, event| {
            asked.push(event.is_some());
            Ok(true)
        });
        waited.unwrap();
        assert_eq!((asked, line.close()), (vec![false], 0));
    }
}

#[test]
fn waiting_ends_when_the_time_comes() {
    for one_thread in [false, true] {
        let line = Pointer::open(one_thread);
        let deadline = Instant::now() + Duration::from_millis(10);
        assert_eq!(line.wait(1, Some(deadline)).unwrap(), 0);
        assert!(Instant::now() >= deadline);
        assert_eq!(line.close(), 0);
    }
}

#[test]
fn others_call_while_threads_wait_and_closing_ends_it() {
    let line = Pointer::open(false);
    thread::scope(|scope| {
        let first = scope.spawn(move || {
            let line = line;
            line.wait(1, None).unwrap()
        });
        thread::sleep(Duration::from_millis(20));
        line.send(0..1);
        assert_eq!(first.join().unwrap(), 1);

        let wait_for_ever = move || {
            let line = line;
            Fake::hot_status("line_wait", || line.wait(usize::MAX, None).map(drop))
        };
        let waiting: Vec<_> = (0..3).map(|_| scope.spawn(wait_for_ever)).collect();
        thread::sleep(Duration::from_millis(20));
        assert_eq!(line.close(), 0);
        for thread in waiting {
            assert_eq!(thread.join().unwrap(), CLOSED);
        }
    });
}
