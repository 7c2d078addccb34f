//! SEM-5: open channels.

use bcl::{Access, Buffer, DmaBuffer, Error, Event, OpError};
use bcl_testing::{PortLike, conformance, contents};

/// The same window on both kinds of memory: acted upon directly, and by the owner's thread.
fn memories(len: usize) -> [Buffer; 2] {
    [
        DmaBuffer::new(len).expect("there is memory").into(),
        vec![0; len].into(),
    ]
}

conformance! {
    /// SEM-5.1
    fn what_the_owner_does_not_permit_is_refused(world) {
        let (a, b) = world.pair();
        for memory in memories(4096) {
            b.port().bind(4, memory, Access::GET).unwrap();
            b.port().bind(5, vec![0; 4096], Access::PUT).unwrap();
            a.port().put(b.address, 4, 0, vec![1; 8], 1).unwrap();
            a.port().fetch_add(b.address, 4, 0, 1, 2).unwrap();
            a.port().get(b.address, 4, 4090, vec![1; 8], 3).unwrap();
            a.port().get(b.address, 4, u64::MAX, vec![1; 8], 4).unwrap();
            a.port().get(b.address, 6, 0, vec![1; 8], 5).unwrap();
            a.port().get(b.address, 5, 0, vec![1; 8], 6).unwrap();
            a.port().get(b.address, 999, 0, vec![1; 8], 7).unwrap();
            let refused = [
                OpError::RmaDenied,
                OpError::RmaDenied,
                OpError::RmaRange,
                OpError::RmaRange,
                OpError::NoWindow,
                OpError::RmaDenied,
                OpError::NoWindow,
            ];
            for (index, error) in refused.into_iter().enumerate() {
                assert_eq!(a.rma(1 + index as u64).0, Err(error), "operation {}", index + 1);
            }
            assert_eq!(b.port().unbind(4).unwrap().into_vec(), vec![0; 4096]);
            b.port().unbind(5).unwrap();
        }
    }

    /// SEM-5.1
    fn windows_are_numbered_and_bound_once(world) {
        let a = world.open();
        assert!(matches!(a.port().bind(4096, vec![0; 8], Access::ALL), Err(Error::InvalidArgument(_))));
        a.port().bind(4095, vec![0; 8], Access::ALL).unwrap();
        assert!(matches!(a.port().bind(4095, vec![0; 8], Access::ALL), Err(Error::Busy(_))));
        assert!(matches!(a.port().unbind(1), Err(Error::NotFound(_))));
        assert_eq!(a.port().unbind(4095).unwrap().len(), 8);
    }

    /// SEM-5.1: all that a port can have, each with its own memory, while others come and go.
    fn a_port_has_thousands_of_windows(world) {
        let (a, b) = world.pair();
        for window in 0..4096u16 {
            b.port().bind(window, vec![0; 8], Access::ALL).unwrap();
        }
        for window in (0..4096).step_by(97) {
            a.port().put(b.address, window, 0, window.to_le_bytes().to_vec(), window.into()).unwrap();
            assert_eq!(a.rma(window.into()).0, Ok(0));
            b.port().unbind(window ^ 1).unwrap();
        }
        for window in (0..4096u16).step_by(97) {
            assert_eq!(b.port().unbind(window).unwrap().into_vec()[..2], window.to_le_bytes());
            a.port().get(b.address, window, 0, vec![0; 8], 1).unwrap();
            assert_eq!(a.rma(1).0, Err(OpError::NoWindow));
        }
        b.port().bind(97, vec![7; 8], Access::ALL).unwrap();
        a.port().get(b.address, 97, 0, vec![0; 8], 2).unwrap();
        let (result, found) = a.rma(2);
        assert_eq!((result, found.unwrap().into_vec()), (Ok(0), vec![7; 8]));
    }

    /// SEM-5.2: also lengths that the owner's thread moves in many pieces.
    fn what_is_put_can_be_got(world) {
        let (a, b) = world.pair();
        for memory in memories(1 << 20) {
            b.port().bind(0, memory, Access::ALL).unwrap();
            for (seed, len) in [0, 1, 100, 65_536, 65_537, 500_000].into_iter().enumerate() {
                let seed = seed as u64;
                a.port().put(b.address, 0, 77, contents::bytes(seed, len), 10).unwrap();
                a.port().get(b.address, 0, 77, vec![0; len], 11).unwrap();
                assert_eq!(a.rma(10).0, Ok(0));
                let (result, buffer) = a.rma(11);
                assert_eq!(result, Ok(0));
                contents::check(seed, buffer.unwrap().as_slice());
            }
            let memory = b.port().unbind(0).unwrap().into_vec();
            contents::check(5, &memory[77..77 + 500_000]);
        }
    }

    /// SEM-5.3
    fn atomics_return_what_was_there(world) {
        let (a, b) = world.pair();
        let c = world.open();
        for memory in memories(64) {
            b.port().bind(0, memory, Access::ATOMIC).unwrap();
            for cookie in 0..100 {
                a.port().fetch_add(b.address, 0, 8, 1, cookie).unwrap();
                c.port().fetch_add(b.address, 0, 8, 1, cookie).unwrap();
            }
            let mut seen: Vec<u64> = (0..100)
                .flat_map(|cookie| [a.rma(cookie).0.unwrap(), c.rma(cookie).0.unwrap()])
                .collect();
            seen.sort();
            assert_eq!(seen, (0..200).collect::<Vec<_>>());
            a.port().compare_swap(b.address, 0, 8, 7, 1, 1).unwrap();
            a.port().compare_swap(b.address, 0, 8, 200, u64::MAX, 2).unwrap();
            a.port().fetch_add(b.address, 0, 8, 2, 3).unwrap();
            assert_eq!([1, 2, 3].map(|cookie| a.rma(cookie).0), [Ok(200), Ok(200), Ok(u64::MAX)]);
            a.port().fetch_add(b.address, 0, 4, 2, 4).unwrap();
            assert_eq!(a.rma(4).0, Err(OpError::RmaRange));
            let memory = b.port().unbind(0).unwrap().into_vec();
            assert_eq!(memory[8..16], 1u64.to_ne_bytes());
        }
    }

    /// SEM-5.4, SEM-3.7
    fn an_owner_that_computes_stalls_nobody(world) {
        let (a, b) = world.pair();
        a.meet(&b);
        for memory in memories(4096) {
            b.port().bind(0, memory, Access::ALL).unwrap();
            a.port().put(b.address, 0, 0, vec![5; 4096], 1).unwrap();
            // Only the requester is polled.
            let done = a.port().wait(bcl::Which::Send, Some(bcl_testing::PATIENCE)).unwrap();
            let done = match done {
                Some(Event::Sent { .. }) => a.port().wait(bcl::Which::Send, Some(bcl_testing::PATIENCE)).unwrap(),
                other => other,
            };
            assert!(matches!(done, Some(Event::RmaDone { result: Ok(()), .. })), "{done:?}");
            assert_eq!(b.port().unbind(0).unwrap().into_vec(), vec![5; 4096]);
        }
    }

    /// SEM-5.5
    fn the_owner_hears_of_writes(world) {
        let (a, b) = world.pair();
        for memory in memories(4096) {
            b.port().bind(0, memory, Access::ALL | Access::NOTIFY).unwrap();
            a.port().put(b.address, 0, 100, vec![5; 30], 1).unwrap();
            a.port().get(b.address, 0, 100, vec![5; 30], 2).unwrap();
            a.port().fetch_add(b.address, 0, 8, 1, 3).unwrap();
            for place in [(100, 30), (8, 8)] {
                let event = b.expect("an arrival", |event| matches!(event, Event::RmaArrived { .. }));
                let Event::RmaArrived { from, window, offset, len_bytes } = event else { unreachable!() };
                assert_eq!((from, window, (offset, len_bytes)), (a.address, 0, place));
            }
            for cookie in 1..=3 {
                assert!(a.rma(cookie).0.is_ok());
            }
            b.port().unbind(0).unwrap();
        }
    }

    /// SEM-5.6
    fn windows_are_bound_anew(world) {
        let (a, b) = world.pair();
        for round in 0..20u8 {
            let [direct, served] = memories(64 + usize::from(round));
            let memory = if round % 3 == 0 { served } else { direct };
            b.port().bind(0, memory, Access::ALL).unwrap();
            a.port().put(b.address, 0, 0, vec![round; 64], 1).unwrap();
            assert_eq!(a.rma(1).0, Ok(0), "round {round}");
            let memory = b.port().unbind(0).unwrap().into_vec();
            assert_eq!(memory[..64], [round; 64]);
            a.port().put(b.address, 0, 0, vec![round; 64], 2).unwrap();
            assert_eq!(a.rma(2).0, Err(OpError::NoWindow), "round {round}");
        }
    }
}
