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
        ..Header::new(Kind::Close)
    };
    let (ack, payload) = bench.send(&early, &[]).back();
    let body = AckBody::from_bytes(&payload).expect("bits");
    assert_eq!((ack.ack, body.selective), (100, [0b10, 0, 0, 0]));
    assert_eq!((ack.length, ack.message), (1, 103), "it was dropped");
    assert_eq!(bench.port.counters.no_room, 1);

    assert_eq!(bench.send(&cts(100), &[]).ack(), (Kind::Ack, 101));
    let filled = bench.send(&cts(101), &[]);
    assert_eq!(filled, Came::Nothing, "no gap is left: it may wait");
    assert_eq!(bench.expected(), 103);
    assert_eq!(bench.send(&early, &[]), Came::Nothing);
    let records: Vec<_> = bench
        .records()
        .iter()
        .map(|record| (record.0, record.3))
        .collect();
    let acks = [100, 101, 103];
    assert_eq!(records[..3], acks.map(|ack| (Kind::Cts, ack)));
    assert_eq!(records[3], (Kind::Close, 104));
}

/// Of each record: sequence, whether it is early, whether it is bare, and what may be acknowledged.
fn waits(bench: &mut Bench) -> Vec<(u32, bool, bool, u32)> {
    bench.drain(|header, record| (header.sequence, record.is_early, record.is_bare, record.ack))
}

fn message_at(sequence: u32) -> Header {
    Header {
        sequence,
        ..data(sequence, b"x")
    }
}

#[test]
fn messages_that_come_early_are_the_programs_to_keep() {
    let mut bench = Bench::new();
    for (sequence, bits) in [(102, 0b10), (103, 0b110)] {
        let (ack, payload) = bench.send(&message_at(sequence), b"x").back();
        let body = AckBody::from_bytes(&payload).expect("bits");
        assert_eq!((ack.ack, body.selective), (100, [bits, 0, 0, 0]));
        assert_eq!(ack.length, 0, "it was taken");
    }
    bench.send(&message_at(100), b"x");
    // A filler leaves no record of its own, but for those that wait.
    let filler = Header {
        sequence: 101,
        length: 0,
        ..Header::new(Kind::Data)
    };
    bench.send(&filler, &[]);
    bench.send(&message_at(104), b"x");
    let records = [
        (102, true, false, 100),
        (103, true, false, 100),
        (100, false, false, 101),
        (101, false, true, 104),
        (104, false, false, 105),
    ];
    assert_eq!(waits(&mut bench), records);
}

#[test]
fn the_program_need_not_keep_much_nor_what_no_ack_can_tell() {
    let mut bench = Bench::with(4 << 10, 100);
    // Of 16 records of 256 bytes that the ring has room for, a quarter.
    for sequence in 101..105 {
        let (ack, _) = bench.send(&message_at(sequence), b"x").back();
        assert_eq!(ack.length, 0, "{sequence} was taken");
    }
    let (ack, _) = bench.send(&message_at(105), b"x").back();
    assert_eq!((ack.length, ack.message), (1, 105), "it was dropped");
    assert_eq!(waits(&mut bench).len(), 4);
    let (ack, _) = bench.send(&message_at(357), b"x").back();
    assert_eq!(ack.length, 1, "there is no bit for it");
    let (ack, _) = bench.send(&message_at(356), b"x").back();
    assert_eq!(ack.length, 0, "there is one");
    bench.port.control.refuse_early = true;
    let (ack, _) = bench.send(&message_at(106), b"x").back();
    assert_eq!(ack.length, 1, "the program has no memory for it");
}

/// Else messages would be taken that come after a refused one.
#[test]
fn nothing_is_refused_before_what_was_kept_nor_kept_after_what_was_refused() {
    let mut bench = Bench::new();
    bench.send(&message_at(101), b"x");
    bench.port.control.refuse_system = true;
    let (ack, payload) = bench.send(&message_at(100), b"x").back();
    let body = AckBody::from_bytes(&payload).expect("bits");
    assert_eq!((ack.ack, body.refusing_system), (100, None));
    assert_eq!((ack.length, ack.message), (1, 100), "it was dropped");
    bench.port.control.refuse_system = false;
    bench.send(&message_at(100), b"x");
    assert_eq!(waits(&mut bench).len(), 2);

    bench.port.control.refuse_system = true;
    bench.send(&message_at(102), b"x").back();
    assert_eq!(bench.port.counters.refused, 1);
    bench.port.control.refuse_system = false;
    let (ack, _) = bench.send(&message_at(104), b"x").back();
    assert_eq!(
        (ack.length, ack.message),
        (1, 104),
        "it comes after a refused one"
    );
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
