//! ADI-2.3, 5.5, 8.5: what no endpoint says.

use super::alone::{endpoint, message_of};
use super::network::address;
use crate::engine::{OneSided, Receive, Source, Wanted, What};
use crate::memory::Memory;

pub fn message(kind: u8, flags: u8, words: &[u64], payload: &[u8]) -> Vec<u8> {
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

/// An endpoint that has asked peer 1 to put 8 bytes, to get 8, and to get what is long, in this order; and has exposed
/// nothing. How many faults there are after the peer has said these.
fn answer(answers: &[Vec<u8>]) -> usize {
    let (mut engine, mut socket, _) = endpoint(0);
    let mut memory = vec![0; 10_000];
    let short = Memory::one(memory.as_mut_ptr(), 8);
    let put = What::Put {
        memory: short.clone(),
        data: None,
    };
    let long = Memory::one(memory.as_mut_ptr(), 10_000);
    for what in [put, What::Get { memory: short }, What::Get { memory: long }] {
        let asked = OneSided {
            to: address(1),
            key: 1,
            address: 0,
            what,
            context: 0,
            mark: 0,
            quiet: false,
            injects: false,
        };
        // SAFETY: the memory is there to the end.
        unsafe { engine.one_sided(&mut socket, asked) }.unwrap();
    }
    for bytes in answers {
        engine.arrived(&mut socket, address(1), 0, bytes).unwrap();
    }
    let faults = engine.depths().faults;
    assert!(
        faults == 0 || engine.depths().requests == 0,
        "all of it ends"
    );
    faults
}

/// ADI-8.5
#[test]
fn answers_are_those_that_requests_want() {
    let done = |count| message(10, 0, &[count], &[]);
    let value = |len| message(11, 0, &[], &[7; 9][..len]);
    let body = |len| message(12, 0x20, &[len, 5], &[]);
    let refused = || message(13, 0, &[1], &[]);
    let unwanted = |name| message(14, 0, &[name, 1], &[]);
    assert_eq!(answer(&[done(1), value(8), body(10_000)]), 0);
    assert_eq!(answer(&[refused(), refused(), refused()]), 0);
    for wrong in [
        vec![value(8)],
        vec![done(2)],
        vec![done(u64::MAX)],
        vec![done(1), value(7)],
        vec![done(1), value(9)],
        vec![done(1), body(9)],
        vec![done(1), value(8), body(9_999)],
        vec![refused(), refused(), refused(), refused()],
        vec![unwanted(0)],
        vec![message(13, 0, &[4], &[])],
    ] {
        assert_eq!(answer(&wrong), 1, "{wrong:?}");
    }
}

/// ADI-8.5: what is asked for is as long as it is said to be, and no more than was agreed on.
#[test]
fn requests_are_few_and_of_the_right_length() {
    let sum_of_longs = 3 | 8 << 8;
    let atomic = |what: u64, len: usize| message(8, 0, &[1, 0, what], &vec![0; len]);
    for (bytes, faults) in [
        (atomic(sum_of_longs | 2 << 32, 16), 0),
        (atomic(sum_of_longs | 2 << 32, 15), 1),
        (atomic(sum_of_longs | 2 << 32, 24), 1),
        (atomic(sum_of_longs | 1 << 16 | 1 << 32, 8), 1),
        (atomic(20 | 8 << 8 | 1 << 32, 8), 1),
        // More is read than can be answered: 2,000 elements, which take no operands.
        (atomic(11 | 8 << 8 | 2000 << 32, 0), 1),
    ] {
        let (mut engine, mut socket, _) = endpoint(0);
        engine.arrived(&mut socket, address(1), 0, &bytes).unwrap();
        assert_eq!(engine.depths().faults, faults, "{bytes:?}");
    }
    let (mut engine, mut socket, network) = endpoint(0);
    network.borrow_mut().refusals[0] = usize::MAX;
    let get = message(7, 0, &[1, 0, 8], &[]);
    for count in 0..257 {
        assert_eq!(engine.depths().faults, 0, "{count}");
        engine.arrived(&mut socket, address(1), 0, &get).unwrap();
    }
    assert_eq!((engine.depths().faults, engine.depths().served), (1, 0));
}
