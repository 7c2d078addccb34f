//! What is counted on one side is waited for on the other.

use std::ptr;

use crate::abi::*;
use crate::cntr::{Cntr, calls, open};
use crate::lab::{Lab, Shared, close, zeroed};

/// `fi_cntr_wait`
fn wait(cntr: &Cntr, threshold: u64, timeout_ms: i32) -> i32 {
    // SAFETY: a counter.
    unsafe { calls::wait((&raw const *cntr).cast_mut().cast(), threshold, timeout_ms) }
}

#[test]
fn who_waits_is_woken_at_the_threshold_and_by_a_failure() {
    let lab = Lab::new(FI_THREAD_SAFE);
    let mut attr: fi_cntr_attr = zeroed();
    attr.wait_obj = FI_WAIT_UNSPEC;
    let cntr: &Cntr = lab.open(open, &mut attr);
    let tally = cntr.tally();
    assert_eq!((wait(cntr, 1, 0), cntr.is_quiet()), (-FI_ETIMEDOUT, true));
    let shared = Shared(cntr);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wait(shared.get(), 100, -1));
        (0..100).for_each(|_| tally.count());
        assert_eq!(waiter.join().unwrap(), 0);
        // It has seen no failure before this one; a wait that began later would not end.
        let waiter = scope.spawn(|| {
            (0..)
                .map(|_| wait(shared.get(), 101, 1))
                .find(|result| *result != -FI_ETIMEDOUT)
        });
        while !waiter.is_finished() {
            tally.count_failed();
            std::thread::yield_now();
        }
        assert_eq!(waiter.join().unwrap(), Some(-FI_EAVAIL));
    });
    assert!(!cntr.is_quiet());
    assert_eq!(close(cntr), -FI_EBUSY, "somebody counts there");
    drop(tally);
    assert_eq!(close(cntr), 0);
}

#[test]
fn who_has_said_that_it_does_not_wait_cannot() {
    let lab = Lab::new(FI_THREAD_DOMAIN);
    let mut attr: fi_cntr_attr = zeroed();
    let cntr: &Cntr = lab.open(open, &mut attr);
    assert_eq!(wait(cntr, 0, -1), -FI_ENOSYS);
    assert_eq!(close(cntr), 0);
    attr.events = 1;
    let mut fid = ptr::null_mut();
    // SAFETY: a domain, attributes, and a place that stays empty.
    let refused = unsafe { open(lab.domain, &raw mut attr, &raw mut fid, ptr::null_mut()) };
    assert_eq!(refused, -FI_ENOSYS);
}
