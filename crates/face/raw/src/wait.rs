//! Waiting on a port that threads share: spin, then yield, then sleep, and hold the port only to look at it.

use std::time::Duration;

use bcl_os::wait::{Advice, Waiter};

use crate::bed::Bed;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::event::{Event, Which};
use crate::matcher::Matcher;
use crate::port::RawPort;

/// Waits on a port that is locked only while it is looked at. `locked` runs what it is given under the lock.
pub fn wait_unlocked<M: Matcher>(
    bed: &Bed,
    which: Which,
    timeout: Option<Duration>,
    mut locked: impl FnMut(&mut dyn FnMut(&mut RawPort<M>)),
) -> Result<Option<Event>, Error> {
    let mut deadline = Deadline::after(timeout);
    let mut waiter = Waiter::new();
    waiter.start();
    loop {
        let (mut polled, mut expecting) = (Ok(None), false);
        locked(&mut |port| {
            polled = port.poll(which);
            expecting = port.expects_completions();
        });
        if let Some(event) = polled? {
            return Ok(Some(event));
        }
        if deadline.is_now() {
            return Ok(None);
        }
        let advice = waiter.after_empty_poll(|| expecting);
        if advice == Advice::Again {
            continue;
        }
        if deadline.is_over() {
            return Ok(None);
        }
        if advice == Advice::Sleep {
            let mut asleep = false;
            locked(&mut |port| asleep = port.enter_sleep(which));
            if asleep {
                let slept = bed.sleep(deadline.at());
                locked(&mut |port| port.leave_sleep());
                slept?;
            }
            waiter.start();
        }
    }
}
