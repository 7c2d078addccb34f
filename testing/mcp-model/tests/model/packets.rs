//! Which packets it takes ([MCP-1]).

use bcl_wire::{Flags, Header, Kind};

use crate::bench::{Bench, CONNECTION, Came, data};

#[test]
fn what_is_not_for_an_entered_connection_is_left_alone() {
    let mut bench = Bench::new();
    let good = bench.datagram(&data(0, b"hello"), b"hello");
    let changed = |at: usize, byte: u8| {
        let mut datagram = good.clone();
        datagram[at] = byte;
        datagram
    };
    for (what, datagram) in [
        ("shorter than a header", good[..63].to_vec()),
        ("another protocol", changed(0, 0)),
        ("another version", changed(2, 2)),
        ("HELLO", changed(3, 1)),
        ("WELCOME", changed(3, 2)),
        ("CONFIRM", changed(3, 3)),
        ("REFUSE", changed(3, 15)),
        ("PIECE", changed(3, 19)),
        ("GONE", changed(3, 20)),
        ("another connection", changed(8, 99)),
        ("another port", changed(18, 99)),
    ] {
        assert_eq!(bench.receive(&datagram), Came::Passed, "{what}");
    }
    assert_eq!(bench.port.counters, Default::default());
}

#[test]
fn what_is_malformed_or_not_the_peers_has_no_effect() {
    let mut bench = Bench::new();
    let before = bench.port.connection(CONNECTION);
    let mut datagram = bench.datagram(&data(0, b"hello"), b"hello");
    let shorter = &datagram[..datagram.len() - 1];
    assert_eq!(bench.receive(shorter), Came::Nothing, "a shorter one");
    datagram.push(0);
    assert_eq!(bench.receive(&datagram), Came::Passed, "several as one");
    datagram.pop();
    datagram[3] = 77;
    assert_eq!(bench.receive(&datagram), Came::Nothing, "no such kind");
    datagram[3] = Kind::Data.number();
    datagram[66] ^= 1;
    assert_eq!(bench.receive(&datagram), Came::Nothing, "damaged");
    let counters = bench.port.counters;
    assert_eq!(
        (counters.packets, counters.malformed, counters.check),
        (3, 2, 1)
    );
    assert_eq!(bench.port.connection(CONNECTION), before);
    assert_eq!(bench.records(), []);
}

#[test]
fn a_connection_that_was_given_back_is_left_alone_and_its_state_told() {
    let mut bench = Bench::new();
    let first = Header {
        sequence: 100,
        ..data(0, b"a")
    };
    assert_eq!(bench.send(&first, b"a"), Came::Nothing);
    bench.port.control.give_back(CONNECTION, true);
    assert!(bench.port.control.is_given_back(CONNECTION + 1024));
    let second = Header {
        sequence: 101,
        flags: first.flags | Flags::ACK_NOW,
        ..first
    };
    assert_eq!(bench.send(&second, b"a"), Came::Passed);
    let state = bench.port.remove_connection(CONNECTION).expect("its state");
    assert_eq!((state.expected, state.due), (101, 1));
    bench.port.control.give_back(CONNECTION, false);
    assert_eq!(bench.send(&second, b"a"), Came::Passed);
}
