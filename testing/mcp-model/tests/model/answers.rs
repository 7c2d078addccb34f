//! What goes back ([MCP-4.4], [MCP-5.1], [MCP-5.5]).

use bcl_wire::{Flags, Header, Kind, RmaStatus};

use crate::bench::{Bench, Came, data, put, status};

fn probe(number: u32) -> Header {
    Header {
        message: number,
        rail: 1,
        ..Header::new(Kind::Probe)
    }
}

#[test]
fn a_probe_is_answered_also_when_the_program_has_no_room() {
    let mut bench = Bench::with(4096, 100);
    let (answer, payload) = bench.send(&probe(9), b"ping").back();
    assert_eq!(
        (answer.kind, answer.message, answer.ack),
        (Kind::ProbeAnswer, 9, 100)
    );
    assert_eq!((answer.rail, &payload[..]), (1, &b"ping"[..]));
    while bench.port.counters.no_room == 0 {
        let (answer, _) = bench.send(&probe(10), &[]).back();
        assert_eq!(answer.kind, Kind::ProbeAnswer);
    }
    assert_eq!(bench.records().len(), 15);
}

#[test]
fn what_has_no_sequence_goes_to_the_program_unanswered() {
    let mut bench = Bench::new();
    let nak = Header {
        length: 1,
        ..Header::new(Kind::Nak)
    };
    for header in [
        Header::new(Kind::Ack),
        nak,
        Header::new(Kind::Answer),
        Header::new(Kind::ProbeAnswer),
    ] {
        assert_eq!(bench.send(&header, &[]), Came::Nothing);
    }
    let kinds: Vec<Kind> = bench.records().iter().map(|record| record.0).collect();
    let sent = [Kind::Ack, Kind::Nak, Kind::Answer, Kind::ProbeAnswer];
    assert_eq!(kinds, sent);
}

/// [WIRE-9.5]: an answer must not make a refused message a delivered one.
#[test]
fn an_answer_acknowledges_no_further_than_what_is_refused() {
    let mut bench = Bench::new();
    bench.window(2, 64, 2);
    bench.port.control.refuse_system = true;
    bench.follow(data(0, b"x"), b"x");
    let (answer, _) = bench.follow(put(1, 0, 2, 0, 8), &[1; 8]).back();
    assert_eq!((answer.kind, answer.ack), (Kind::Answer, 100));
    let (answer, _) = bench.send(&probe(1), &[]).back();
    assert_eq!(answer.ack, 100);
    assert_eq!(bench.records(), [(Kind::Probe, false, false, 100)]);
    bench.port.control.refuse_system = false;
    bench.follow(data(0, b"x"), b"x");
    let again = put(2, 0, 2, 0, 8);
    let came = bench.follow(again, &[1; 8]);
    assert_eq!(came.clone().ack(), (Kind::Answer, 104));
    assert_eq!(status(came), RmaStatus::Ok);
}

#[test]
fn what_asks_is_told_what_was_taken_though_it_has_no_room_itself() {
    let mut bench = Bench::with(4096, 100);
    let rts = |number| Header {
        channel: 1,
        message: number,
        length: 10_000,
        ..Header::new(Kind::Rts)
    };
    for number in 0..15 {
        bench.follow(rts(number), &[]);
    }
    let asks = Header {
        flags: Flags::ACK_NOW,
        ..rts(15)
    };
    assert_eq!(bench.follow(asks, &[]).ack(), (Kind::Ack, 115));
    assert_eq!(bench.port.counters.no_room, 1);
    let (ack, _) = bench.follow(rts(16), &[]).back();
    assert_eq!((ack.ack, ack.length, ack.message), (115, 1, 116));
    bench.records();
    bench.next = 115;
    assert_eq!(bench.follow(rts(15), &[]), Came::Nothing);
    assert_eq!(bench.expected(), 116);
}
