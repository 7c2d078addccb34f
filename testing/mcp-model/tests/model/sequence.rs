//! Standing, and what is acknowledged ([MCP-3], [MCP-5.3]).

use bcl_wire::body::AckBody;
use bcl_wire::{Flags, Header, Kind};

use crate::bench::{Bench, Came, data};

fn cts(sequence: u32) -> Header {
    Header {
        sequence,
        ..Header::new(Kind::Cts)
    }
}

#[test]
fn packets_in_order_are_acknowledged_eight_at_a_time() {
    let mut bench = Bench::with(64 << 10, u32::MAX - 3);
    for number in 0..7 {
        assert_eq!(bench.follow(data(number, b"x"), b"x"), Came::Nothing);
    }
    let came = bench.follow(data(7, b"x"), b"x");
    assert_eq!(came.ack(), (Kind::Ack, 4));
    let records = bench.records();
    assert_eq!(records[0], (Kind::Data, false, false, u32::MAX - 2));
    assert_eq!(records[7], (Kind::Data, false, true, 4));
}

#[test]
fn who_asks_is_answered_at_once() {
    let mut bench = Bench::new();
    for (asks, expected) in [(Flags::ACK_NOW, 101), (Flags::RETRANSMIT, 102)] {
        let header = data(0, b"x");
        let header = Header {
            flags: header.flags | asks,
            ..header
        };
        let (ack, payload) = bench.follow(header, b"x").back();
        assert_eq!((ack.kind, ack.ack, payload.len()), (Kind::Ack, expected, 0));
    }
}

#[test]
fn only_what_says_where_it_belongs_may_come_early() {
    let mut bench = Bench::new();
    let (ack, payload) = bench.send(&cts(102), &[]).back();
    let body = AckBody::from_bytes(&payload).expect("bits");
    assert_eq!((ack.ack, body.selective), (100, [0b10, 0, 0, 0]));
    assert_eq!((ack.length, ack.message), (0, 0), "it was taken");
    let early = Header {
        sequence: 103,
        ..data(0, b"x")
    };
    let (ack, payload) = bench.send(&early, b"x").back();
    let body = AckBody::from_bytes(&payload).expect("bits");
    assert_eq!((ack.ack, body.selective), (100, [0b10, 0, 0, 0]));
    assert_eq!((ack.length, ack.message), (1, 103), "it was dropped");
    assert_eq!(bench.port.counters.no_room, 1);

    assert_eq!(bench.send(&cts(100), &[]).ack(), (Kind::Ack, 101));
    let filled = bench.send(&cts(101), &[]);
    assert_eq!(filled, Came::Nothing, "no gap is left: it may wait");
    assert_eq!(bench.expected(), 103);
    assert_eq!(bench.send(&early, b"x"), Came::Nothing);
    let records: Vec<_> = bench
        .records()
        .iter()
        .map(|record| (record.0, record.3))
        .collect();
    let acks = [100, 101, 103];
    assert_eq!(records[..3], acks.map(|ack| (Kind::Cts, ack)));
    assert_eq!(records[3], (Kind::Data, 104));
}

#[test]
fn what_comes_again_or_from_beyond_is_answered_and_dropped() {
    let mut bench = Bench::new();
    bench.follow(data(0, b"x"), b"x");
    bench.next = 100;
    let (ack, payload) = bench.follow(data(0, b"x"), b"x").back();
    assert_eq!((ack.ack, payload.len()), (101, 0));
    assert_eq!(bench.send(&cts(101 + 1024), &[]).ack(), (Kind::Ack, 101));
    let counters = bench.port.counters;
    assert_eq!((counters.duplicate, counters.beyond_window), (1, 1));
    assert_eq!(bench.records().len(), 1);
    assert_ne!(bench.send(&cts(101 + 1023), &[]), Came::Nothing);
    assert_eq!(bench.records().len(), 1, "the last that is not beyond");
}

#[test]
fn a_short_acknowledgement_is_sent_where_packets_cannot_be_made_longer() {
    let mut bench = Bench::new();
    bench.port.can_lengthen = false;
    let (ack, payload) = bench.send(&cts(102), &[]).back();
    assert_eq!((ack.kind, ack.ack, payload.len()), (Kind::Ack, 100, 0));
    let long = Header {
        sequence: 103,
        channel: 1,
        length: 100,
        ..Header::new(Kind::Body)
    };
    let (_, payload) = bench.send(&long, &[0; 48]).back();
    assert_eq!(payload.len(), AckBody::LEN);
}
