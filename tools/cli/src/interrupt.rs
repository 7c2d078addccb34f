//! A Ctrl-C leaves nothing behind.
//!
//! The signals are blocked in every thread and taken by one that does nothing else, so that tidying up runs
//! as ordinary code: it stops the processes that were started, and leaves by `exit`, at which the library
//! closes the ports and takes their names out of the socket folder.

use std::sync::{Mutex, PoisonError};
use std::thread;

use bcl_launch::signals::{block, heeded};

use crate::failure::{Failure, Result};

/// What a user or a batch system ends a program with.
const ENDING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

type Action = Box<dyn FnOnce() + Send>;

/// Locked from the moment an ending signal has come.
static BEFORE_EXIT: Mutex<Vec<Action>> = Mutex::new(Vec::new());

/// From now on an ending signal tidies up and ends the program with status 128 + signal.
///
/// Call before any other thread starts.
pub fn exit_tidily_on_signals() -> Result<()> {
    let signals = block(&heeded(&ENDING));
    thread::Builder::new()
        .name("bcl-signals".into())
        .spawn(move || {
            let mut signal = 0;
            // SAFETY: both places live on this stack, and the set was filled in by `block`.
            while unsafe { libc::sigwait(&signals, &mut signal) } != 0 {}
            let mut actions = before_exit();
            actions.drain(..).for_each(|action| action());
            std::process::exit(128 + signal);
        })
        .map_err(|error| Failure::system("start a thread", error))?;
    Ok(())
}

/// Remembers what to do when a signal ends the program.
pub fn on_exit(action: impl FnOnce() + Send + 'static) {
    before_exit().push(Box::new(action));
}

/// Does not return if a signal is ending the program: what fails then, fails because of the tidying up.
pub fn wait_if_ending() {
    drop(before_exit());
}

fn before_exit() -> std::sync::MutexGuard<'static, Vec<Action>> {
    BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner)
}
