//! SEM-3: operations and events.

use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use bcl::{Error, Event, QUIET, Which};
use bcl_testing::{PATIENCE, PortLike, conformance};

fn is_readable(fd: RawFd, timeout: Duration) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, on this stack.
    unsafe { libc::poll(&raw mut poll, 1, timeout.as_millis() as i32) > 0 }
}

conformance! {
    /// SEM-3.1
    fn each_operation_has_one_event(world) {
        let (a, b) = world.pair();
        for cookie in 0..100 {
            b.port().post(1, vec![0; 10], cookie).unwrap();
            a.port().send(b.address, 1, vec![cookie as u8; 10], cookie).unwrap();
        }
        for cookie in 0..100 {
            assert_eq!(b.received(cookie), (Ok(()), 10, vec![cookie as u8; 10]));
            let (result, buffer) = a.sent(cookie);
            assert_eq!(result, Ok(()));
            assert_eq!(buffer.unwrap().into_vec(), vec![cookie as u8; 10]);
        }
        a.serve_for(Duration::from_millis(5));
        assert!(a.find(|event| matches!(event, Event::Sent { .. })).is_none());
        assert!(a.port().send_system(b.address, &[0; 100_000], 1).is_err());
        a.serve_for(Duration::from_millis(5));
        assert!(a.find(|event| matches!(event, Event::Sent { .. })).is_none());
    }

    /// SEM-3.2
    fn the_queues_are_separate(world) {
        let (a, b) = world.pair();
        a.meet(&b);
        b.port().send_system(a.address, b"news", 5).unwrap();
        a.port().send_system(b.address, b"x", 6).unwrap();
        let sent = a.port().wait(Which::Send, Some(PATIENCE)).unwrap();
        assert!(matches!(sent, Some(Event::Sent { cookie: 6, .. })), "{sent:?}");
        let mut came = a.port().wait(Which::Recv, Some(PATIENCE)).unwrap();
        if matches!(came, Some(Event::PeerUp { .. })) {
            came = a.port().wait(Which::Recv, Some(PATIENCE)).unwrap();
        }
        let Some(Event::Message(message)) = came else { panic!("{came:?}") };
        a.port().release(message).unwrap();
    }

    /// SEM-3.2, SEM-4.1: nothing is lost when nobody takes events.
    fn a_full_receive_queue_delays(world) {
        let (a, b) = world.pair();
        a.meet(&b);
        for cookie in 0..4096 {
            b.port().post(1, vec![0; 1], cookie).unwrap();
            b.port().cancel_post(1, cookie).unwrap();
        }
        for seed in 0..10u8 {
            a.port().send_system(b.address, &[seed; 100], 1).unwrap();
        }
        for _ in 0..100 {
            assert!(b.port().poll(Which::Send).unwrap().is_none());
        }
        for seed in 0..10u8 {
            assert_eq!(b.message().1, vec![seed; 100]);
        }
    }

    /// SEM-3.3
    fn the_descriptor_wakes(world) {
        let (a, b) = world.pair();
        let fd = b.port().raw_fd().unwrap();
        a.meet(&b);
        for round in 0..200u8 {
            while b.port().poll(Which::Any).unwrap().is_some() {}
            a.port().send_system(b.address, &[round; 64], QUIET).unwrap();
            a.port().send_system(b.address, &[round; 64], QUIET).unwrap();
            for _ in 0..2 {
                assert!(is_readable(fd, PATIENCE), "round {round}");
                loop {
                    let event = b.port().poll(Which::Recv).unwrap();
                    if let Some(Event::Message(message)) = event {
                        b.port().release(message).unwrap();
                        break;
                    }
                    assert!(is_readable(fd, PATIENCE), "round {round}");
                }
            }
        }
    }

    /// SEM-3.3: level-triggered, for events of both queues.
    fn the_descriptor_stays_readable_while_events_lie_there(world) {
        let (a, b) = world.pair();
        a.meet(&b);
        let fd = b.port().raw_fd().unwrap();
        while b.port().poll(Which::Any).unwrap().is_some() {}
        for cookie in 0..3 {
            b.port().send_system(a.address, b"x", cookie).unwrap();
        }
        for cookie in 0..3 {
            assert!(is_readable(fd, PATIENCE), "event {cookie}");
            assert!(is_readable(fd, PATIENCE), "event {cookie}, asked again");
            let event = b.port().poll(Which::Send).unwrap();
            assert!(event.is_some(), "event {cookie}");
        }
    }

    /// SEM-3.4
    fn quiet_operations_report_failures_only(world) {
        let (a, b) = world.pair();
        a.meet(&b);
        a.port().send_system(b.address, b"x", QUIET).unwrap();
        b.message();
        let is_sent = |event: &Event| matches!(event, Event::Sent { .. });
        a.serve_for(Duration::from_millis(2));
        assert!(a.find(is_sent).is_none());
        let nobody = bcl::Address { port: 3, ..a.address };
        a.port().send_system(nobody, b"x", QUIET).unwrap();
        assert!(a.sent(QUIET).0.is_err());
    }

    /// SEM-3.5
    fn a_wait_ends_in_time(world) {
        let a = world.open();
        for ms in [0, 1, 20] {
            let timeout = Duration::from_millis(ms);
            let start = Instant::now();
            assert!(a.port().wait(Which::Any, Some(timeout)).unwrap().is_none());
            assert!(start.elapsed() >= timeout);
        }
    }

    /// SEM-3.6
    fn too_many_operations_are_refused_and_none_is_lost(world) {
        let (a, b) = world.pair();
        let mut accepted = 0;
        loop {
            match a.port().send(b.address, 1, vec![1; 3], accepted) {
                Ok(()) => accepted += 1,
                Err(error) => {
                    assert!(matches!(error, Error::QueueFull { .. }), "{error}");
                    break;
                }
            }
        }
        assert_eq!(accepted, bcl::QUEUE_DEPTH as u64);
        for cookie in 0..accepted {
            b.port().post(1, vec![0; 3], cookie).unwrap();
        }
        for cookie in 0..accepted {
            assert_eq!(a.sent(cookie).0, Ok(()));
            assert_eq!(b.received(cookie).0, Ok(()));
        }
        a.meet(&b);
    }
}
