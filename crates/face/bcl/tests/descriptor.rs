//! The descriptor of a port becomes readable for whatever there is to take, also for the completion of
//! an operation that was begun after the port had fallen asleep.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Duration;

use bcl::{Event, OpError, Port, Which};
use rustix::event::{PollFd, PollFlags, poll};

/// Long enough for any machine; only a lost wake-up takes it.
const NEVER: Duration = Duration::from_secs(20);

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bcl-{name}-{}", std::process::id()));
        Self(path)
    }

    fn open(&self) -> Port {
        Port::options()
            .folder(&self.0)
            .open()
            .expect("a port opens")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Takes events as a program with an event loop does: sleeps on the descriptor, then polls until empty.
fn next_event(port: &mut Port) -> Event {
    loop {
        if let Some(event) = port.poll(Which::Any).expect("a poll") {
            return event;
        }
        sleep_on(port.fd().expect("a descriptor"));
    }
}

fn sleep_on(fd: BorrowedFd<'_>) {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let timeout = rustix::time::Timespec {
        tv_sec: NEVER.as_secs() as i64,
        tv_nsec: 0,
    };
    let ready = poll(&mut fds, Some(&timeout)).expect("a poll of the descriptor");
    assert_eq!(ready, 1, "the descriptor slept through an event");
}

#[test]
fn a_send_begun_while_asleep_wakes_the_descriptor_when_it_completes() {
    const ROUNDS: u64 = 200;
    let folder = Folder::new("descriptor");
    let mut sender = folder.open();
    let mut receiver = folder.open();
    let to = receiver.address();
    let peer = std::thread::spawn(move || {
        for round in 0..ROUNDS {
            receiver.post(1, vec![0; 64], round).expect("a post");
            while !matches!(
                receiver.wait(Which::Any, Some(NEVER)).expect("a wait"),
                Some(Event::Received { .. })
            ) {}
        }
        receiver
    });
    for round in 0..ROUNDS {
        // Asleep in the eyes of the peers from here on, with nothing to hope for: the polls silence the bell.
        sender.fd().expect("a descriptor");
        for _ in 0..64 {
            assert!(sender.poll(Which::Any).expect("a poll").is_none());
        }
        sender.send(to, 1, vec![7; 32], round).expect("a send");
        loop {
            if let Event::Sent { cookie, result, .. } = next_event(&mut sender) {
                assert_eq!((cookie, result), (round, Ok(())));
                break;
            }
        }
    }
    peer.join().expect("the receiver's thread");
}

/// [SEM-4.9], [SEM-3.3]
#[test]
fn a_send_canceled_while_asleep_wakes_the_descriptor() {
    const SENDS: u64 = 1000;
    let folder = Folder::new("descriptor-cancel");
    let mut sender = folder.open();
    // It is never polled, so that most sends wait for room.
    let receiver = folder.open();
    let to = receiver.address();
    for cookie in 0..SENDS {
        sender.send(to, 1, vec![7; 32], cookie).expect("a send");
    }
    assert!(matches!(next_event(&mut sender), Event::PeerUp { .. }));
    // Asked for once: each time that it is, the port looks whether it has to be readable.
    let fd = sender.fd().expect("a descriptor");
    let fd = fd.try_clone_to_owned().expect("a second descriptor");
    for _ in 0..64 {
        assert!(sender.poll(Which::Any).expect("a poll").is_none());
    }
    let last = SENDS - 1;
    sender.cancel_send(to, last).expect("it waits for room");
    sleep_on(fd.as_fd());
    match next_event(&mut sender) {
        Event::Sent { cookie, result, .. } => {
            assert_eq!((cookie, result), (last, Err(OpError::Canceled)));
        }
        other => panic!("the end of a send was expected: {other:?}"),
    }
}
