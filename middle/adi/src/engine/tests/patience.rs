//! Peers that are waited for for long.

use super::alone::{endpoint, message_of};
use super::network::{Network, address};
use crate::engine::{Receive, Source, Wanted};
use crate::memory::Memory;

fn said_to(network: &Network, peer: usize) -> usize {
    network.systems.get(&(0, peer)).map_or(0, |said| said.len())
}

/// ADI-6.5
#[test]
fn who_is_waited_for_for_long_is_spoken_to_and_nobody_else() {
    let (mut engine, mut socket, network) = endpoint(0);
    let mut rooms = [[0u8; 8]; 3];
    let sources = [
        Source::Peer(address(1)),
        Source::Any,
        Source::Peer(address(0)),
    ];
    for ((source, room), context) in sources.into_iter().zip(&mut rooms).zip(0..) {
        let receive = Receive {
            wanted: Wanted {
                space: 0,
                source,
                tag: 0,
                ignore: 0,
            },
            memory: Memory::one(room.as_mut_ptr(), room.len()),
            context,
            mark: 0,
            multi_min_free_bytes: None,
        };
        // SAFETY: the rooms go after the engine does.
        unsafe { engine.receive(&mut socket, receive) }.unwrap();
    }
    let mut ask = || {
        engine.ask_after_peers(&mut socket).unwrap();
        let network = network.borrow();
        [0, 1, 2].map(|peer| said_to(&network, peer))
    };
    assert_eq!(ask(), [0, 0, 0], "not at once");
    assert_eq!(ask(), [0, 1, 0]);
    assert_eq!(ask(), [0, 2, 0]);
    engine.cancel(0, 0).unwrap();
    let mut ask = || {
        engine.ask_after_peers(&mut socket).unwrap();
        said_to(&network.borrow(), 1)
    };
    assert_eq!((ask(), ask()), (2, 2));
}

/// ADI-6.5: a long message that its receiver has not asked for.
#[test]
fn who_was_sent_something_and_does_not_want_it_is_spoken_to() {
    let (mut engine, mut socket, network) = endpoint(0);
    let mut bytes = [0; 10_000];
    let send = message_of(&mut bytes);
    // SAFETY: nobody looks at it any more when this returns.
    unsafe { engine.send(&mut socket, send) }.unwrap();
    let before = said_to(&network.borrow(), 1);
    for _ in 0..3 {
        engine.ask_after_peers(&mut socket).unwrap();
    }
    assert_eq!(said_to(&network.borrow(), 1), before + 2);
}
