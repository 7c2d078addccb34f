//! Ends processes that take too long, without disturbing those that do not.

use std::process::Child;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How long a program may take to tidy up after it has been asked to end.
const GRACE: Duration = Duration::from_secs(2);

/// A thread that sleeps until the time is over or it is sent to rest: a loop that looks at the
/// children from time to time would take its share of the cores they are measured on.
pub struct Watchdog {
    _rest_when_dropped: Sender<()>,
}

impl Watchdog {
    /// Ends `children` if this is not sent to rest within `limit`.
    pub fn over<'a>(children: impl IntoIterator<Item = &'a Child>, limit: Duration) -> Self {
        let children: Vec<Pid> = children.into_iter().map(Pid::from_child).collect();
        let (sender, receiver) = channel::<()>();
        thread::spawn(move || {
            for (signal, patience) in [(Signal::TERM, limit), (Signal::KILL, GRACE)] {
                let rested = receiver.recv_timeout(patience) != Err(RecvTimeoutError::Timeout);
                if rested {
                    return;
                }
                for child in &children {
                    // One that has ended meanwhile needs no signal.
                    let _ = kill_process(*child, signal);
                }
            }
        });
        Self {
            _rest_when_dropped: sender,
        }
    }

    /// The children have ended: nothing is left to watch.
    pub fn rest(self) {}
}
