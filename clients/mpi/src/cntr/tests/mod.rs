mod tally;

use super::counter::{Counter, Reached};

#[test]
fn a_counter_counts_and_says_whether_it_has_changed() {
    let mut counter = Counter::default();
    assert!(!counter.has_changed());
    counter.add(3);
    counter.add_failed(2);
    assert!(counter.has_changed());
    assert_eq!(counter.look(), 3);
    assert!(!counter.has_changed());
    assert_eq!(counter.look_at_failed(), 2);
    for change in [
        (|counter| counter.set(7)) as fn(&mut Counter),
        |counter| counter.set_failed(8),
        |counter| counter.add_failed(1),
        |counter| counter.add(u64::MAX),
    ] {
        change(&mut counter);
        assert!(counter.has_changed());
        counter.look();
    }
    assert_eq!((counter.look(), counter.look_at_failed()), (6, 9));
}

#[test]
fn who_waits_goes_on_at_the_threshold_or_at_a_failure_that_is_new() {
    let mut counter = Counter::default();
    counter.add_failed(1);
    counter.add(4);
    assert_eq!(counter.reached(5, 1), None);
    assert_eq!(counter.reached(4, 1), Some(Reached::Threshold));
    assert_eq!(counter.reached(5, 0), Some(Reached::Failure));
    // Both: it has what it has waited for.
    assert_eq!(counter.reached(3, 0), Some(Reached::Threshold));
    assert_eq!(counter.failed(), 1);
}
