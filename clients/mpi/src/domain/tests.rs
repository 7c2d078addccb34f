use super::*;
use crate::lab::Lab;

/// Only a program that has promised to use one thread for the domain goes without locks.
#[test]
fn threads_count_together_whatever_else_a_program_has_promised() {
    for threading in [
        FI_THREAD_UNSPEC,
        FI_THREAD_SAFE,
        FI_THREAD_FID,
        FI_THREAD_COMPLETION,
        FI_THREAD_ENDPOINT,
    ] {
        let lab = Lab::new(threading);
        // SAFETY: a domain of ours, open until the end.
        let count = unsafe { of::<Domain, _>(lab.domain) }.lock(0);
        // Who gives way between reading and writing is found out if another one may come in.
        let count_one = |count: &mut u32| {
            let before = *count;
            std::thread::yield_now();
            *count = before + 1;
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| count.with(count_one)));
            }
        });
        assert_eq!(count.with(|count| *count), 4000);
    }
}
