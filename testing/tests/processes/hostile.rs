//! A process that scribbles over everything it can write spoils its own messages and nothing else.

use std::time::Instant;

use bcl::{CopyMode, Event, OpError, QUIET};
use bcl_testing::peer::{Peer, command};
use bcl_testing::{PATIENCE, PortLike, World, contents};

/// SEM-7.7
#[test]
fn a_process_that_scribbles_spoils_nothing_of_others() {
    for (seed, copy) in (0..6).zip(
        [CopyMode::Single, CopyMode::Stream, CopyMode::Auto]
            .into_iter()
            .cycle(),
    ) {
        let world: World = World::new();
        let victim = world.open_with(world.options().copy_mode(copy));
        let friend = world.open();
        victim.meet(&friend);
        let address = victim.address.to_string();
        let role = ["hostile", &address, &seed.to_string()];
        let mut hostile = Peer::spawn(command(world.folder(), &role));
        // It is spoken to as well, so that its answers matter.
        let mut cookie = 1000;
        victim.port().post(1, vec![0; 1 << 20], QUIET - 1).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let mut is_cut_off = false;
        for round in 0.. {
            if is_cut_off && round >= 300 {
                break;
            }
            assert!(
                is_cut_off || Instant::now() < deadline,
                "seed {seed}: it has not been cut off"
            );
            let to = hostile.address;
            for len in [10, 500, 5000] {
                let _ = victim.port().send_system(to, &vec![1; len], QUIET);
                let _ = victim.port().send(to, 2, vec![1; len], QUIET);
            }
            let _ = victim.port().fetch_add(to, 0, 0, 1, QUIET);
            for (from, into) in [(&victim, &friend), (&friend, &victim)] {
                cookie += 1;
                let len = 1 + (cookie * 7919 % 60_000) as usize;
                into.port().post(9, vec![0; len], cookie).unwrap();
                from.port()
                    .send(into.address, 9, contents::bytes(cookie, len), cookie)
                    .unwrap();
                let (result, found, bytes) = into.received(cookie);
                assert_eq!((result, found), (Ok(()), len as u64), "round {round}");
                contents::check(cookie, &bytes);
                assert_eq!(from.sent(cookie).0, Ok(()));
            }
            // What the hostile process says is believed for what it is: some bytes of some length.
            let is_theirs =
                |event: &Event| matches!(event, Event::Message(m) if m.from() == hostile.address);
            while let Some(Event::Message(message)) = victim.find(is_theirs) {
                let mut port = victim.port();
                port.copy_of(&message);
                port.release(message).unwrap();
            }
            let cut = |event: &Event| {
                matches!(
                    event,
                    Event::Sent {
                        result: Err(OpError::Protocol),
                        ..
                    }
                )
            };
            is_cut_off |= victim.find(cut).is_some();
            let noise = |event: &Event| {
                matches!(
                    event,
                    Event::Sent { cookie: QUIET, .. }
                        | Event::RmaDone { cookie: QUIET, .. }
                        | Event::RmaArrived { .. }
                )
            };
            while victim.find(noise).is_some() {}
        }
        hostile.kill();
        victim.meet(&friend);
    }
}
