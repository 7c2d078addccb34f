//! ADI-2.3, 5.5: answers that no endpoint gives.

use super::alone::{endpoint, message_of};
use super::network::address;
use crate::engine::{Receive, Source, Wanted};
use crate::memory::Memory;

fn message(kind: u8, flags: u8, words: &[u64], payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![1, kind, flags, 0, 0, 0, 0, 0];
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend_from_slice(payload);
    bytes
}

/// Announces a message to peer 1, which those then ask for; whether each of them is taken for a cheat.
fn ask(len: usize, from: &[usize]) -> Vec<usize> {
    let (mut engine, mut socket, network) = endpoint(0);
    let mut bytes = vec![7; len];
    let send = message_of(&mut bytes);
    // SAFETY: the memory is there to the end.
    unsafe { engine.send(&mut socket, send) }.unwrap();
    let name = network.borrow().systems[&(0, 1)][0]
        .bytes
        .last_chunk()
        .copied();
    let cts = message(3, 0, &[u64::from_le_bytes(name.unwrap())], &[]);
    // What is asked for cannot leave yet.
    network.borrow_mut().refusals[0] = 100;
    let asked = from.iter().map(|from| {
        engine
            .arrived(&mut socket, address(*from), 0, &cts)
            .unwrap();
        engine.depths().faults
    });
    asked.collect()
}

#[test]
fn who_asks_for_what_he_may_not_cheats() {
    assert_eq!(ask(8, &[1]), [0]);
    assert_eq!(ask(8, &[2, 1]), [1, 1], "it was announced to another");
    assert_eq!(ask(8, &[1, 1]), [0, 1], "it was asked for before");
    assert_eq!(ask(10_000, &[1]), [1], "it comes unasked");
}

#[test]
fn data_has_the_length_that_was_announced() {
    for (len, faults) in [(8, 0), (7, 1)] {
        let (mut engine, mut socket, _) = endpoint(0);
        let mut memory = [0; 8];
        let wanted = Wanted {
            space: 0,
            source: Source::Any,
            tag: 0,
            ignore: 0,
        };
        let receive = Receive {
            wanted,
            memory: Memory::one(memory.as_mut_ptr(), 8),
            context: 0,
            mark: 0,
            multi_min_free_bytes: None,
        };
        // SAFETY: the memory is there to the end.
        unsafe { engine.receive(&mut socket, receive) }.unwrap();
        for bytes in [
            message(2, 0x40, &[8, 5], &[]),
            message(4, 0, &[5], &[7; 8][..len]),
        ] {
            engine.arrived(&mut socket, address(1), 0, &bytes).unwrap();
        }
        assert_eq!(engine.depths().faults, faults);
        let completion = engine.next_completion().expect("it has ended");
        assert_eq!(completion.result.is_err(), faults == 1);
    }
}
