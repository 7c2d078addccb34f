//! DATA and BODY ([MCP-4.1], [MCP-4.2], [MCP-4.6]).

use bcl_layout::control::Grant;
use bcl_wire::body::AckBody;
use bcl_wire::{Flags, Header, Kind, NakReason};

use crate::bench::{Bench, CONNECTION, Came, data};

/// What an acknowledgement says is refused.
fn refused(came: Came) -> (u32, Option<u32>) {
    let (header, payload) = came.back();
    assert_eq!(header.kind, Kind::Ack);
    let body = AckBody::from_bytes(&payload).expect("a payload");
    (header.ack, body.refusing_system)
}

#[test]
fn a_message_that_is_refused_keeps_the_later_ones_out_until_it_comes_again() {
    let mut bench = Bench::new();
    bench.port.control.refuse_system = true;
    let first = Header {
        flags: Flags::FIRST,
        length: 3000,
        ..data(7, b"")
    };
    assert_eq!(refused(bench.follow(first, &[1; 1400])), (101, Some(7)));
    let piece = Header {
        flags: Flags::LAST,
        offset: 1400,
        ..first
    };
    assert_eq!(bench.follow(piece, &[1; 1600]), Came::Nothing);
    bench.port.control.refuse_system = false;
    assert_eq!(refused(bench.follow(data(8, b"x"), b"x")), (103, Some(7)));
    let normal = Header {
        channel: 3,
        ..data(9, b"x")
    };
    assert_eq!(bench.follow(normal, b"x"), Came::Nothing);
    let records = bench.records();
    assert_eq!(
        records,
        [(Kind::Data, false, false, 100)],
        "only what is on channel 3"
    );

    let asks = Header {
        flags: Flags::FIRST | Flags::ACK_NOW,
        ..first
    };
    let came = bench.follow(asks, &[1; 1400]);
    assert_eq!(came.ack(), (Kind::Ack, 105));
    assert_eq!(bench.records(), [(Kind::Data, false, true, 105)]);
    let counters = bench.port.counters;
    assert_eq!(
        (counters.refused, counters.discarded, counters.naks),
        (1, 2, 0)
    );
}

#[test]
fn half_of_the_ring_is_kept_free_of_system_messages() {
    // 32 messages of one record of 2,048 bytes fit half of it.
    let mut bench = Bench::with(128 << 10, 0);
    let payload = [5; 1024];
    for number in 0..32 {
        bench.follow(data(number, &payload), &payload);
    }
    assert_eq!(bench.port.counters.refused, 0);
    assert_eq!(
        refused(bench.follow(data(32, &payload), &payload)),
        (33, Some(32))
    );
    let normal = Header {
        channel: 1,
        ..data(33, b"x")
    };
    bench.follow(normal, b"x");
    assert_eq!(bench.records().len(), 33);
    // A message of 8,192 bytes counts as eight packets, whatever it has.
    let mut bench = Bench::with(16 << 10, 0);
    let long = [5; 8192];
    assert_eq!(refused(bench.follow(data(0, &long), &long)), (1, Some(0)));
    let mut bench = Bench::with(32 << 10, 0);
    assert_eq!(bench.follow(data(0, &long), &long), Came::Nothing);
}

#[test]
fn a_refusal_that_cannot_be_told_in_full_is_a_nak() {
    let mut bench = Bench::new();
    bench.port.can_lengthen = false;
    bench.port.control.refuse_system = true;
    let (nak, payload) = bench.follow(data(7, b"x"), b"x").back();
    assert_eq!((nak.kind, nak.message, nak.ack), (Kind::Nak, 7, 101));
    assert_eq!(nak.length, u64::from(NakReason::SystemBusy.number()));
    assert!(payload.is_empty());
    bench.next = 100;
    let again = bench.follow(data(7, b"x"), b"x");
    assert_eq!(
        again.ack(),
        (Kind::Nak, 101),
        "no ACK may say that it was delivered"
    );
    let (ack, _) = bench.follow(data(8, &[0; 48]), &[0; 48]).back();
    assert_eq!(ack.kind, Kind::Ack);
}

#[test]
fn unreliable_messages_are_dropped_rather_than_refused() {
    let mut bench = Bench::new();
    let unreliable = Header {
        flags: Flags::FIRST | Flags::LAST | Flags::UNRELIABLE,
        ..data(1, b"x")
    };
    assert_eq!(bench.send(&unreliable, b"x"), Came::Nothing);
    bench.port.control.refuse_system = true;
    assert_eq!(bench.send(&unreliable, b"x"), Came::Nothing);
    assert_eq!(bench.port.counters.no_room, 1);
    assert_eq!(bench.records(), [(Kind::Data, false, false, 100)]);
}

#[test]
fn fillers_are_taken_and_nothing_else() {
    let mut bench = Bench::new();
    for channel in [0, 4] {
        let filler = Header {
            channel,
            flags: Flags::NONE,
            ..data(1, b"")
        };
        assert_eq!(bench.follow(filler, &[]), Came::Nothing);
    }
    assert_eq!((bench.expected(), bench.port.counters.discarded), (102, 2));
    assert_eq!(bench.records(), []);
}

fn piece(sequence: u32, offset: u64) -> Header {
    Header {
        sequence,
        channel: 9,
        message: 4,
        offset,
        length: 2000,
        ..Header::new(Kind::Body)
    }
}

#[test]
fn pieces_of_a_granted_message_are_placed_also_before_their_turn() {
    let mut bench = Bench::new();
    bench.window(200, 4096, 0);
    bench.port.control.grants[3] = Grant {
        connection: CONNECTION,
        message: 4,
        window: 200,
        place: 1000,
        len_bytes: 2000,
    };
    bench.send(&piece(101, 1000), &[2; 1000]);
    bench.send(&piece(100, 0), &[1; 1000]);
    assert_eq!(bench.expected(), 102);
    let memory = bench.memory(200);
    assert!(memory[1000..2000].iter().all(|byte| *byte == 1));
    assert!(memory[2000..3000].iter().all(|byte| *byte == 2));
    assert!(
        memory[..1000]
            .iter()
            .chain(&memory[3000..])
            .all(|byte| *byte == 0)
    );
    let record = bench.port.ring.next_record().expect("a record");
    assert!(record.is_placed && record.payload.is_empty());
    assert_eq!(
        bcl_wire::parse_header(record.header)
            .unwrap()
            .payload_len_bytes,
        1000
    );
    // What comes again is not written again: the program may use the memory by then.
    bench.send(&piece(100, 0), &[3; 1000]);
    assert_eq!(bench.memory(200)[1000], 1);
}

#[test]
fn a_piece_that_its_grant_does_not_fit_goes_to_the_program() {
    let mut bench = Bench::new();
    bench.window(200, 2500, 0);
    let grant = Grant {
        connection: CONNECTION,
        message: 4,
        window: 200,
        place: 1000,
        len_bytes: 2000,
    };
    let mut sequence = 100;
    for (grant, offset) in [
        (
            Grant {
                message: 5,
                ..grant
            },
            0,
        ),
        (
            Grant {
                connection: 8,
                ..grant
            },
            0,
        ),
        (
            Grant {
                window: 201,
                ..grant
            },
            0,
        ),
        (
            Grant {
                window: 65_536 + 200,
                ..grant
            },
            0,
        ),
        (
            Grant {
                len_bytes: 999,
                ..grant
            },
            0,
        ),
        (
            Grant {
                place: u64::MAX,
                ..grant
            },
            1000,
        ),
        (grant, 1000),
    ] {
        bench.port.control.grants[0] = grant;
        bench.send(&piece(sequence, offset), &[1; 1000]);
        let record = bench.port.ring.next_record().expect("a record");
        assert!(
            !record.is_placed && record.payload == [1; 1000],
            "{grant:?}"
        );
        bench.port.ring.release();
        sequence += 1;
    }
    bench.port.control.grants[0] = grant;
    bench.port.control.grant_count = 0;
    bench.send(&piece(sequence, 0), &[1; 1000]);
    assert!(!bench.port.ring.next_record().expect("a record").is_placed);
    assert_eq!(bench.port.counters.placed, 0);
}
