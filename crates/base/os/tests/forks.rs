//! Children, however they are made, by themselves and while other threads are anywhere in the library.

use std::io::Read;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bcl_os::{Fd, PerProcess, fork, process};

/// Makes a child that runs `act`; whether that was right.
fn child(make: impl Fn() -> i32, act: impl FnOnce() -> bool) -> bool {
    let pid = make();
    if pid == 0 {
        let right = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).unwrap_or(false);
        // SAFETY: nothing of the parent's is to be run or flushed.
        unsafe { libc::_exit(i32::from(!right)) }
    }
    let mut status = 1;
    // SAFETY: the child is ours, and the status lives on this stack.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    status == 0
}

fn by_fork() -> i32 {
    // SAFETY: the child ends in `child`.
    unsafe { libc::fork() }
}

/// As `_Fork`: no handler runs.
fn by_clone() -> i32 {
    // SAFETY: the child has a copy of all memory, and ends in `child`.
    unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32 }
}

fn null() -> Fd {
    let (flags, mode) = (rustix::fs::OFlags::CLOEXEC, rustix::fs::Mode::empty());
    Fd::make(|| rustix::fs::open("/dev/null", flags, mode)).unwrap()
}

#[test]
fn a_child_is_another_process_and_can_do_all_that_its_parent_could() {
    let (own, beacon) = (process::generation(), process::beacon());
    assert!(beacon.is_some() && !process::is_forked());
    for make in [by_fork, by_clone] {
        assert!(child(make, || {
            let is_other = process::generation() != own && process::is_forked();
            // It keeps forks off and forks by itself, as a process of its own.
            drop(null());
            is_other && process::beacon() != beacon && child(by_fork, || !fork::held_off(|| false))
        }));
    }
    assert_eq!((process::generation(), process::beacon()), (own, beacon));
}

#[test]
fn a_descriptor_stays_with_the_parent() {
    let mut fd = null();
    let number = std::os::fd::AsRawFd::as_raw_fd(&fd);
    // SAFETY: asks whether the number is open.
    let is_open = |number| unsafe { libc::fcntl(number, libc::F_GETFD) } != -1;
    assert!(child(by_fork, || {
        let was_closed = !is_open(number);
        // The number is another's by now, which dropping the parent's must not close.
        let other = null();
        let same = std::os::fd::AsRawFd::as_raw_fd(&other) == number;
        drop(std::mem::replace(&mut fd, null()));
        was_closed && same && is_open(number)
    }));
    assert_eq!(fd.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn a_lock_that_a_thread_of_the_parent_holds_is_not_the_childs() {
    static LOCK: PerProcess<Mutex<u32>> = PerProcess::new(Mutex::default);
    let mut held = LOCK.get().lock().unwrap();
    *held = 7;
    assert!(child(by_fork, || LOCK
        .get()
        .try_lock()
        .is_ok_and(|value| *value == 0)));
    assert_eq!(*held, 7);
}

#[test]
fn no_fork_falls_between_making_a_descriptor_and_noting_it() {
    let own = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    drop(null());
                }
            });
        }
        let kept = || std::fs::read_dir("/proc/self/fd").unwrap().count() - own;
        let keepers = (0..300).filter(|_| !child(by_fork, || kept() == 0)).count();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(keepers, 0, "children have kept something");
    });
}
