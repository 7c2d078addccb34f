//! ADI-6.4: what becomes of messages whose sends are complete when their endpoint closes.

use std::thread;
use std::time::{Duration, Instant};

use bcl_adi::{Ended, Error, Memory, Receive, Send, Source, Wanted, When};
use bcl_testing::conformance;
use bcl_types::Address;

use crate::party::{Party, completions, open};

/// Their lengths differ, so that each is known by its own.
const MAX_LEN: usize = 200;
/// More than a new peer may send without being asked.
const MESSAGES: usize = 3000;
const LINGER: Duration = Duration::from_secs(60);
/// No test that works takes as long.
const FAR_LESS: Duration = Duration::from_secs(20);

/// Sends so much that most of it has to wait here, though the sends are complete.
fn send_all(from: &mut Party, to: &mut Party) {
    for number in 0..MESSAGES {
        let bytes = vec![number as u8; number % (MAX_LEN + 1)];
        let send = Send {
            to: to.address(),
            space: 0,
            tag: 1,
            data: None,
            memory: Memory::to_read(bytes.as_ptr(), bytes.len()),
            context: number as u64,
            mark: 0,
            when: When::Injected,
            quiet: true,
        };
        // SAFETY: an injected message is read before the call returns.
        while let Err(error) = unsafe { from.endpoint.send(send.clone()) } {
            assert!(matches!(error, Error::Again { .. }), "{error}");
            from.look();
            to.look();
        }
    }
}

fn owed_to(from: &mut Party, to: Address, timeout: Duration) -> Option<usize> {
    let owed = from.endpoint.drain(Some(timeout)).unwrap();
    assert!(owed.keys().all(|address| *address == to), "{owed:?}");
    owed.get(&to).copied()
}

conformance! {
    /// All of it arrives at who is late, and no longer is waited than that takes.
    fn who_closes_waits_for_who_receives_late(world) {
        let (mut a, mut b) = (open(world), open(world));
        send_all(&mut a, &mut b);
        thread::scope(|scope| {
            let closing = scope.spawn(move || {
                let start = Instant::now();
                a.endpoint.close(LINGER).unwrap();
                start.elapsed()
            });
            thread::sleep(Duration::from_millis(300));
            assert!(!closing.is_finished(), "most of it is still to be received");
            for number in 0..MESSAGES {
                let mut room = [0; MAX_LEN];
                let receive = Receive {
                    wanted: Wanted { space: 0, source: Source::Any, tag: 1, ignore: 0 },
                    memory: Memory::one(room.as_mut_ptr(), room.len()),
                    context: 0,
                    mark: 0,
                    multi_min_free_bytes: None,
                };
                // SAFETY: it is waited for before the room goes.
                unsafe { b.endpoint.receive(receive) }.unwrap();
                let ended = completions(&mut [&mut b], 0, Ended::Receive, 1)[0];
                assert_eq!((ended.result, ended.len_bytes), (Ok(()), (number % (MAX_LEN + 1)) as u64));
                assert!(room[..number % (MAX_LEN + 1)].iter().all(|byte| *byte == number as u8));
            }
            assert!(closing.join().unwrap() < FAR_LESS);
        });
    }

    /// Neither will receive anything any more.
    fn two_that_close_do_not_wait_for_each_other(world) {
        let (mut a, mut b) = (open(world), open(world));
        send_all(&mut a, &mut b);
        send_all(&mut b, &mut a);
        let start = Instant::now();
        thread::scope(|scope| {
            for mut party in [a, b] {
                scope.spawn(move || party.endpoint.close(LINGER).unwrap());
            }
        });
        assert!(start.elapsed() < FAR_LESS, "{:?}", start.elapsed());
    }

    /// Whose receiver does not receive learns how much it has not.
    fn it_is_said_what_has_not_left(world) {
        let (mut a, mut b) = (open(world), open(world));
        assert_eq!(owed_to(&mut a, b.address(), LINGER), None, "nothing was sent");
        send_all(&mut a, &mut b);
        let some = Duration::from_millis(50);
        let owed = owed_to(&mut a, b.address(), some).expect("b has not received anything");
        assert!(0 < owed && owed < MESSAGES, "{owed}");
        let to = b.address();
        b.endpoint.close(Duration::ZERO).unwrap();
        assert_eq!(owed_to(&mut a, to, LINGER), None, "there is nobody to have it");
    }
}
