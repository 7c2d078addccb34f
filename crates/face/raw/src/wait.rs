//! Waiting on a port that threads share: spin, then yield, then sleep, and hold the port only to look at it.

use std::time::Duration;

use bcl_os::wait::{Advice, Waiter};
use bcl_tier::page::Counter;

use crate::bed::Bed;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::event::Which;
use crate::matcher::Matcher;
use crate::port::RawPort;

/// What threads share and lock: a port, or what has one.
pub trait HasPort {
    /// Which message goes to which buffer.
    type Matcher: Matcher;

    /// The port.
    fn port(&mut self) -> &mut RawPort<Self::Matcher>;
}

impl<M: Matcher> HasPort for RawPort<M> {
    type Matcher = M;

    fn port(&mut self) -> &mut Self {
        self
    }
}

/// Waits until `look` finds something, at what is locked only meanwhile. `locked` runs what it is given under the lock. `look`
/// polls the port, and takes at least what it says is there.
pub fn wait_unlocked<P: HasPort, T, E: From<Error>>(
    bed: &Bed,
    which: Which,
    timeout: Option<Duration>,
    mut locked: impl FnMut(&mut dyn FnMut(&mut P)),
    mut look: impl FnMut(&mut P) -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let mut deadline = Deadline::after(timeout);
    let mut waiter = Waiter::default();
    let mut has_yielded = false;
    loop {
        let (mut found, mut expecting) = (Ok(None), false);
        locked(&mut |shared| {
            if std::mem::take(&mut has_yielded) {
                shared.port().count(Counter::Yields);
            }
            found = look(shared);
            expecting = shared.port().expects_completions();
        });
        if let Some(found) = found? {
            return Ok(Some(found));
        }
        if deadline.is_now() {
            return Ok(None);
        }
        let advice = waiter.after_empty_poll(bed.core(), || expecting);
        if advice == Advice::Again {
            continue;
        }
        if deadline.is_over() {
            return Ok(None);
        }
        has_yielded = advice == Advice::Yielded;
        if advice == Advice::Sleep {
            let mut asleep = false;
            locked(&mut |shared| asleep = shared.port().enter_sleep(which));
            if asleep {
                let slept = bed.sleep(deadline.at());
                locked(&mut |shared| shared.port().leave_sleep());
                slept?;
            }
            waiter = Waiter::default();
        }
    }
}
