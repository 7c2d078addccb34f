//! SEM-8: many threads on one port.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use bcl::{Event, QUIET, Which};
use bcl_testing::fixture::Shared;
use bcl_testing::{Fixture, PATIENCE, World, contents};

const THREADS: u64 = 32;
const EACH: u64 = 100;

/// SEM-8.1: 32 threads send, 32 others on the other port wait, some with the descriptor in use.
#[test]
fn thirty_two_threads_share_a_port() {
    let world = World::<Shared>::new();
    let a = Shared::open(world.options()).unwrap();
    let b = Shared::open(world.options()).unwrap();
    b.fd().unwrap();
    let (to, taken) = (b.address(), AtomicU64::new(0));
    let deadline = Instant::now() + 3 * PATIENCE;
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (a, b, taken) = (a.clone(), b.clone(), &taken);
            scope.spawn(move || {
                for number in 0..EACH {
                    let seed = thread * EACH + number;
                    let mut data = seed.to_le_bytes().to_vec();
                    data.extend(contents::bytes(seed, 200));
                    a.send_system(to, &data, QUIET).unwrap();
                    let step = std::time::Duration::from_micros(1);
                    let _ = a.wait(Which::Any, Some(step)).unwrap();
                }
            });
            scope.spawn(move || {
                while taken.load(Ordering::SeqCst) < THREADS * EACH {
                    assert!(Instant::now() < deadline, "a wake-up was lost");
                    let event = b.wait(Which::Any, Some(std::time::Duration::from_millis(500)));
                    if let Some(Event::Message(message)) = event.unwrap() {
                        let data = b.data(&message);
                        let (head, body) = data.split_at(8);
                        contents::check(u64::from_le_bytes(head.try_into().unwrap()), body);
                        b.release(message).unwrap();
                        taken.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
        // The senders may be done while messages still wait for room: somebody keeps their port moving.
        while taken.load(Ordering::SeqCst) < THREADS * EACH {
            assert!(
                Instant::now() < deadline,
                "{} messages have come",
                taken.load(Ordering::SeqCst)
            );
            let _ = a
                .wait(Which::Any, Some(std::time::Duration::from_millis(5)))
                .unwrap();
        }
    });
}
