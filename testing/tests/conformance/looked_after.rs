//! Endpoints that threads share, and that a thread looks after while their program computes.

use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use bcl_adi::{
    Completion, Ended, Error, Memory, OpError, Progress, Receive, Send, SharedEndpoint, Source,
    Wanted, When,
};
use bcl_testing::{Fixture, World, conformance, contents};
use bcl_types::Address;

const PATIENCE: Duration = Duration::from_secs(30);

fn open<F: Fixture>(world: &World<F>, progress: Progress) -> SharedEndpoint {
    SharedEndpoint::open(world.raw_options(), progress).unwrap()
}

/// # Safety
/// The memory stays until the send is complete.
unsafe fn send(from: &SharedEndpoint, to: Address, tag: u64, bytes: &[u8]) {
    let send = Send {
        to,
        space: 0,
        tag,
        data: None,
        memory: Memory::to_read(bytes.as_ptr(), bytes.len()),
        context: tag,
        mark: 0,
        when: When::Reusable,
        quiet: false,
    };
    // SAFETY: by the contract.
    while let Err(error) = unsafe { from.send(send.clone()) } {
        assert!(matches!(error, Error::Again { .. }), "{error}");
        thread::yield_now();
    }
}

/// # Safety
/// The memory stays until the receive is complete.
unsafe fn receive(at: &SharedEndpoint, tag: u64, room: &mut [u8]) {
    let receive = Receive {
        wanted: Wanted {
            space: 0,
            source: Source::Any,
            tag,
            ignore: 0,
        },
        memory: Memory::one(room.as_mut_ptr(), room.len()),
        context: tag,
        mark: 0,
        multi_min_free_bytes: None,
    };
    // SAFETY: by the contract.
    unsafe { at.receive(receive) }.unwrap();
}

fn wait(at: &SharedEndpoint) -> Completion {
    let ended = at.wait(Some(PATIENCE)).unwrap().expect("something ends");
    assert_eq!(ended.result, Ok(()));
    ended
}

conformance! {
    /// ADI-6.1, 6.5: who waits for somebody who was never there, or no longer is, and has nothing to send, is told.
    fn nobody_is_waited_for_for_ever(world) {
        let gone = open(world, Progress::Manual);
        let nobody = gone.address();
        gone.close(Duration::ZERO).unwrap();
        let mut rooms = [[0; 8]; 2];
        let sleeps = open(world, Progress::Automatic);
        let looks = open(world, Progress::Manual);
        for (endpoint, room) in [&sleeps, &looks].into_iter().zip(&mut rooms) {
            let receive = Receive {
                wanted: Wanted { space: 0, source: Source::Peer(nobody), tag: 1, ignore: 0 },
                memory: Memory::one(room.as_mut_ptr(), room.len()),
                context: 1,
                mark: 0,
                multi_min_free_bytes: None,
            };
            // SAFETY: the rooms go after the endpoints do.
            unsafe { endpoint.receive(receive) }.unwrap();
        }
        let start = Instant::now();
        let is_told = |ended: Completion| {
            // Of another node nothing but silence is known.
            matches!(ended.result, Err(OpError::NoPort | OpError::Unreachable))
        };
        let told = sleeps.wait(Some(PATIENCE)).unwrap().expect("it ends");
        assert!(is_told(told), "{told:?}");
        let told = loop {
            if let Some(ended) = looks.poll().unwrap() {
                break ended;
            }
            assert!(start.elapsed() < PATIENCE, "nothing ends");
        };
        assert!(is_told(told), "{told:?}");
    }

    /// ADI-7.1: nobody makes a call, and the message is there.
    fn a_large_transfer_to_who_computes_goes_on(world) {
        const LEN: usize = 5_000_000;
        let bytes = contents::bytes(1, LEN);
        let mut room = vec![0; LEN];
        let (a, b) = (open(world, Progress::Automatic), open(world, Progress::Automatic));
        // SAFETY: both go after the endpoints do.
        unsafe {
            receive(&b, 1, &mut room);
            send(&a, b.address(), 1, &bytes);
        }
        let start = Instant::now();
        // SAFETY: a byte of the vector, which somebody else may write.
        while unsafe { ptr::read_volatile(&raw const room[LEN - 1]) } != bytes[LEN - 1] {
            assert!(start.elapsed() < PATIENCE, "nothing has come");
            thread::yield_now();
        }
        assert_eq!((wait(&b).kind, wait(&a).kind), (Ended::Receive, Ended::Send));
        assert!(room == bytes);
    }

    /// ADI-7.1: by hand, nothing comes but in calls.
    fn by_hand_nothing_goes_on(world) {
        let bytes = contents::bytes(1, 100);
        let mut room = vec![0; 100];
        let (a, b) = (open(world, Progress::Manual), open(world, Progress::Manual));
        // SAFETY: both go after the endpoints do.
        unsafe {
            receive(&b, 1, &mut room);
            send(&a, b.address(), 1, &bytes);
        }
        thread::sleep(Duration::from_millis(30));
        assert!(room.iter().all(|byte| *byte == 0));
        let start = Instant::now();
        let mut ended = None;
        while ended.is_none() && start.elapsed() < PATIENCE {
            a.poll().unwrap();
            ended = b.poll().unwrap();
        }
        assert_eq!(ended.unwrap().result, Ok(()));
        assert_eq!(room, bytes);
    }

    /// ADI-7.2: threads send and wait at once; each completion goes to one of them, and none is lost.
    fn threads_share_an_endpoint(world) {
        const THREADS: u64 = 4;
        const EACH: u64 = 100;
        let messages: Vec<Vec<u8>> = (0..THREADS * EACH)
            .map(|tag| contents::bytes(tag, [8, 900, 20_000][tag as usize % 3]))
            .collect();
        let mut rooms: Vec<Vec<u8>> = messages.iter().map(|bytes| vec![0; bytes.len()]).collect();
        let (a, b) = (open(world, Progress::Automatic), open(world, Progress::Automatic));
        for (tag, room) in rooms.iter_mut().enumerate() {
            // SAFETY: they go after the endpoints do.
            unsafe { receive(&b, tag as u64, room) };
        }
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (a, b, messages) = (&a, &b, &messages);
                scope.spawn(move || {
                    for tag in thread * EACH..(thread + 1) * EACH {
                        // SAFETY: as above.
                        unsafe { send(a, b.address(), tag, &messages[tag as usize]) };
                        assert_eq!(wait(a).kind, Ended::Send);
                    }
                });
                scope.spawn(move || (0..EACH).for_each(|_| assert_eq!(wait(b).kind, Ended::Receive)));
            }
        });
        assert_eq!((a.poll().unwrap(), b.poll().unwrap()), (None, None));
        assert!(rooms == messages);
    }

    /// SEM-3.3, ADI-7.2: a completion that no event of the port has brought wakes who waits.
    fn who_sleeps_is_woken_by_what_another_thread_does(world) {
        let bytes = [1; 8];
        let (a, b) = (open(world, Progress::Automatic), open(world, Progress::Automatic));
        let mut room = [0; 8];
        // SAFETY: they go after the endpoints do.
        unsafe { receive(&a, 5, &mut room) };
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| wait(&a));
            thread::sleep(Duration::from_millis(50));
            // SAFETY: as above. It is complete at once, in the call.
            unsafe { send(&a, b.address(), 1, &bytes) };
            assert_eq!(sleeper.join().unwrap().kind, Ended::Send);
        });
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| a.wait(Some(PATIENCE)));
            thread::sleep(Duration::from_millis(50));
            a.cancel(0, 5).unwrap();
            assert_eq!(sleeper.join().unwrap().unwrap().unwrap().context, 5);
        });
        let sleeper = thread::spawn({
            let a = a.clone();
            move || a.wait(Some(PATIENCE)).map(drop)
        });
        thread::sleep(Duration::from_millis(50));
        a.close(Duration::ZERO).unwrap();
        assert!(sleeper.join().unwrap().unwrap_err().to_string().contains("closed"));
    }
}
