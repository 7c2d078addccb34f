//! Pointers, closing and forks.

use std::ptr;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::*;
use crate::retired::RETIRED_MAX;

#[test]
fn what_is_no_handle_is_refused() {
    let null = Pointer(ptr::null_mut());
    assert_eq!(null.call(), INVALID);
    let not_even_looked_at = "lamp_call: lamp is NULL, or not one of lamp_open's";
    assert_eq!(sentence(), not_even_looked_at);

    let mut garbage = [0x5555_5555_5555_5555_u64; 32];
    let garbage = garbage.as_mut_ptr();
    assert_eq!(Pointer(garbage.cast()).call(), INVALID);
    assert_eq!(sentence(), "lamp_call: lamp is not one of lamp_open's");
    assert_eq!(Pointer(garbage.wrapping_byte_add(1).cast()).call(), INVALID);
    assert_eq!(sentence(), not_even_looked_at);
    assert_eq!(Pointer(garbage.cast()).close(), INVALID);
}

#[test]
fn another_kinds_handle_is_refused() {
    let switch = Handle::open(Switch, false);
    assert_eq!(Pointer(switch.cast()).call(), INVALID);
    assert_eq!(Pointer(switch.cast()).close(), INVALID);
    assert_eq!(sentence(), "lamp_close: lamp is not one of lamp_open's");
    // SAFETY: a switch, still open.
    let closed = Fake::status("switch_close", || unsafe { Handle::close(switch) });
    assert_eq!(closed, 0);
}

#[test]
fn a_closed_one_is_told_so_however_late() {
    for one_thread in [false, true] {
        let (lamp, _woken, was_dropped) = open(one_thread);
        assert_eq!(lamp.call(), 0);
        assert_eq!(lamp.close(), 0);
        was_dropped
            .try_recv()
            .expect("closing frees what is inside");
        for _ in 1..RETIRED_MAX {
            assert_eq!((lamp.call(), lamp.close()), (CLOSED, CLOSED));
            assert_eq!(sentence(), "lamp_close: the lamp is closed");
            assert_eq!(open(one_thread).0.close(), 0);
        }
        assert_eq!(lamp.call(), CLOSED);
    }
}

#[test]
fn closing_wakes_who_waits_and_waits_until_they_have_left() {
    const GUESTS: usize = 3;
    let (lamp, woken, was_dropped) = open(false);
    let (waiting, enters) = channel();
    let woken = Arc::new(Mutex::new(woken));
    let was_dropped = Arc::new(Mutex::new(was_dropped));
    thread::scope(|scope| {
        for _ in 0..GUESTS {
            let (woken, waiting) = (Arc::clone(&woken), waiting.clone());
            let was_dropped = Arc::clone(&was_dropped);
            scope.spawn(move || {
                let lamp = lamp;
                let wait = || {
                    // The sender is gone: that is the end.
                    woken.lock().unwrap().recv().unwrap_err();
                    // Long enough for a closing thread that does not wait for us.
                    thread::sleep(Duration::from_millis(20));
                    was_dropped.lock().unwrap().try_recv().unwrap_err();
                };
                assert_eq!(lamp.wait(&waiting, wait), CLOSED);
                assert_eq!(sentence(), "lamp_wait: the port is closed");
            });
        }
        (0..GUESTS).for_each(|_| enters.recv().unwrap());
        assert_eq!(lamp.close(), 0);
        was_dropped.lock().unwrap().try_recv().unwrap();
    });
    assert_eq!(lamp.call(), CLOSED);
}

#[test]
fn who_finds_something_at_once_or_fails_is_no_guest() {
    let (lamp, _woken, was_dropped) = open(false);
    // SAFETY: open.
    let handle = unsafe { Handle::check(lamp.0) }.unwrap();
    let Lock::Threads(mutex) = &handle.lock else {
        unreachable!("opened for threads")
    };
    assert!(handle.enter::<()>(mutex, |_| Ok(None)).unwrap().is_none());
    let failed = handle.enter::<()>(mutex, |_| Err(Failure::invalid("no")));
    assert!(failed.is_err());
    assert_eq!(lamp.close(), 0);
    was_dropped.try_recv().unwrap();
}

#[test]
fn a_forked_child_is_told_whoever_holds_the_lock() {
    for one_thread in [false, true] {
        let (lamp, _woken, _was_dropped) = open(one_thread);
        // SAFETY: open.
        let held = unsafe { Handle::check(lamp.0) }.unwrap().with(|_| {
            Ok(child(|| {
                let refused = (lamp.call(), lamp.close()) == (FORKED, FORKED);
                refused && sentence().contains("this lamp was opened before fork()")
            }))
        });
        assert!(held.unwrap());
        assert_eq!((lamp.call(), lamp.close()), (0, 0));
    }
}

/// Whether `act` returns true in a forked child.
fn child(act: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs `act`, which needs no other thread, and ends.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: of this process alone; ends it if `act` hangs.
        unsafe { libc::alarm(20) };
        let right = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).unwrap_or(false);
        // SAFETY: nothing of the parent's is to be run or flushed.
        unsafe { libc::_exit(i32::from(!right)) }
    }
    let mut status = 1;
    // SAFETY: the child is ours, and the status lives on this stack.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    status == 0
}
