//! One-sided operations ([MCP-4.5]).

use bcl_wire::body::AtomicBody;
use bcl_wire::{Flags, Header, Kind, RmaStatus};

use crate::bench::{Bench, CONNECTION, Came, put, status};

const GET: u32 = 1;
const PUT: u32 = 2;
const ATOMIC: u32 = 4;
const NOTIFY: u32 = 8;

fn add(number: u32, slot: u16, window: u16, offset: u64) -> Header {
    Header {
        kind: Kind::Atomic,
        flags: Flags::NONE,
        length: 0,
        ..put(number, slot, window, offset, 0)
    }
}

#[test]
fn a_put_is_written_and_answered_by_its_last_piece() {
    let mut bench = Bench::new();
    bench.window(2, 4096, PUT);
    let first = Header {
        flags: Flags::FIRST,
        ..put(1, 5, 2, 100, 2000)
    };
    let last = Header {
        flags: Flags::LAST,
        offset: 1100,
        ..first
    };
    assert_eq!(bench.follow(first, &[1; 1000]), Came::Nothing);
    let (answer, payload) = bench.follow(last, &[2; 1000]).back();
    assert_eq!((answer.kind, answer.ack), (Kind::Answer, 102));
    assert_eq!((answer.channel, answer.slot, answer.message), (2, 5, 1));
    assert_eq!((answer.length, answer.offset, payload.len()), (0, 0, 0));
    let memory = bench.memory(2);
    assert_eq!((memory[99], memory[100], memory[1099]), (0, 1, 1));
    assert_eq!((memory[1100], memory[2099], memory[2100]), (2, 2, 0));
    assert_eq!(bench.records(), [], "nobody is to be told");
    assert_eq!(bench.port.connection(CONNECTION).unwrap().due, 0);
}

#[test]
fn an_operation_is_performed_once_and_answered_again() {
    let mut bench = Bench::new();
    bench.window(2, 64, ATOMIC | PUT);
    let payload = AtomicBody::FetchAdd(5).to_bytes();
    for _ in 0..2 {
        let (answer, _) = bench.follow(add(1, 0, 2, 8), &payload).back();
        assert_eq!((answer.offset, answer.length), (0, 0));
    }
    let (answer, _) = bench.follow(add(2, 0, 2, 8), &payload).back();
    assert_eq!(answer.offset, 5);
    assert_eq!(
        bench.follow(add(1, 0, 2, 8), &payload),
        Came::Nothing,
        "old"
    );
    let swap = |expected, new| AtomicBody::CompareSwap { expected, new }.to_bytes();
    let (answer, _) = bench.follow(add(3, 0, 2, 8), &swap(10, 77)).back();
    assert_eq!(answer.offset, 10);
    let (answer, _) = bench.follow(add(4, 0, 2, 8), &swap(10, 78)).back();
    assert_eq!(answer.offset, 77);
    assert_eq!(bench.memory(2)[8..16], 77u64.to_le_bytes());
    // Slots know nothing of each other.
    let (answer, _) = bench.follow(add(1, 1, 2, 16), &payload).back();
    assert_eq!(answer.offset, 0);
    assert_eq!(
        bench.follow(add(9, 2, 2, 8), &[9; 24]),
        Came::Nothing,
        "no ATOMIC"
    );
}

#[test]
fn what_is_not_permitted_is_told_and_changes_nothing() {
    let mut bench = Bench::new();
    bench.window(2, 64, PUT);
    bench.window(3, 0, PUT);
    bench.window(4, 64, ATOMIC | GET);
    let x = [1; 8];
    let add_one = AtomicBody::FetchAdd(1).to_bytes();
    assert_eq!(
        status(bench.follow(put(1, 0, 3, 0, 8), &x)),
        RmaStatus::NoWindow
    );
    assert_eq!(
        status(bench.follow(put(2, 0, 4, 0, 8), &x)),
        RmaStatus::Denied
    );
    assert_eq!(
        status(bench.follow(put(3, 0, 2, 57, 8), &x)),
        RmaStatus::Range
    );
    assert_eq!(
        status(bench.follow(add(4, 0, 2, 0), &add_one)),
        RmaStatus::Denied
    );
    assert_eq!(
        status(bench.follow(add(5, 0, 4, 4), &add_one)),
        RmaStatus::Range
    );
    assert_eq!(
        status(bench.follow(add(6, 0, 4, 64), &add_one)),
        RmaStatus::Range
    );
    assert!(bench.memory(2).iter().all(|byte| *byte == 0));
    assert!(bench.memory(4).iter().all(|byte| *byte == 0));
    // The whole access is looked at with its first piece; then the others have no effect.
    let first = Header {
        flags: Flags::FIRST,
        ..put(7, 0, 2, 56, 16)
    };
    assert_eq!(bench.follow(first, &x), Came::Nothing);
    let last = Header {
        flags: Flags::LAST,
        offset: 0,
        ..first
    };
    assert_eq!(status(bench.follow(last, &x)), RmaStatus::Range);
    assert!(bench.memory(2).iter().all(|byte| *byte == 0));
    assert_eq!(bench.port.counters.placed, 0);
}

#[test]
fn the_beginning_of_a_long_put_is_told_to_whoever_wants_to_hear_it() {
    for (tells, len_bytes, told) in [(true, 16_384, 1), (true, 16_383, 0), (false, 16_384, 0)] {
        let mut bench = Bench::new();
        bench.window(2, 20_000, PUT);
        bench.port.control.tell_puts = tells;
        let first = Header {
            flags: Flags::FIRST,
            ..put(1, 0, 2, 0, len_bytes)
        };
        let next = Header {
            flags: Flags::NONE,
            offset: 1_000,
            ..first
        };
        for piece in [first, next] {
            assert_eq!(bench.follow(piece, &[1; 1_000]), Came::Nothing);
        }
        let records = bench.records();
        assert_eq!(records.len(), told, "{len_bytes}");
        assert!(bench.memory(2)[..2_000].iter().all(|byte| *byte == 1));
    }
}

#[test]
fn a_padded_get_is_overwritten() {
    let mut bench = Bench::new();
    bench.window(2, 64, GET);
    bench.port.window(2).unwrap().memory[10..14].copy_from_slice(b"read");
    let get = Header {
        kind: Kind::Get,
        flags: Flags::PADDED,
        ..put(1, 0, 2, 10, 4)
    };
    let (answer, payload) = bench.follow(get, &[0; 4]).back();
    assert_eq!((answer.length, &payload[..]), (0, &b"read"[..]));
    bench.port.window(2).unwrap().memory[10] = b'b';
    let (_, payload) = bench.follow(get, &[0; 4]).back();
    assert_eq!(payload, b"bead", "it reads anew");
    let outside = Header { offset: 61, ..get };
    let (answer, payload) = bench.follow(outside, &[0; 4]).back();
    assert_eq!((answer.length, payload.len()), (2, 0));
    // Without a place for the answer, or a window, it is the program's.
    let bare = Header {
        flags: Flags::NONE,
        ..get
    };
    assert_eq!(bench.follow(bare, &[]), Came::Nothing);
    let elsewhere = Header { channel: 9, ..get };
    assert_eq!(bench.follow(elsewhere, &[0; 4]), Came::Nothing);
    assert_eq!(bench.records().len(), 2);
    assert_eq!(bench.port.counters.read, 2);
    assert_eq!(bench.port.connection(CONNECTION).unwrap().outcomes[0], None);
}

#[test]
fn the_program_is_told_of_windows_that_notify() {
    let mut bench = Bench::new();
    bench.window(2, 64, PUT | ATOMIC | NOTIFY);
    let first = Header {
        flags: Flags::FIRST,
        ..put(1, 0, 2, 16, 12)
    };
    let last = Header {
        flags: Flags::LAST,
        offset: 24,
        ..first
    };
    assert_eq!(bench.follow(first, &[1; 8]), Came::Nothing);
    assert_eq!(status(bench.follow(last, &[1; 4])), RmaStatus::Ok);
    let record = bench.port.ring.next_record().expect("a record");
    assert!(record.is_placed && record.is_acked && record.payload.is_empty());
    assert_eq!((record.place, record.ack), (16, 102));
    assert_eq!(bcl_wire::parse_header(record.header).unwrap().length, 12);
    let payload = AtomicBody::FetchAdd(5).to_bytes();
    bench.follow(add(2, 0, 2, 8), &payload);
    bench.follow(add(2, 0, 2, 8), &payload);
    bench.follow(add(3, 0, 2, 80), &payload);
    let kinds: Vec<Kind> = bench.records().iter().map(|record| record.0).collect();
    assert_eq!(
        kinds,
        [Kind::Put, Kind::Atomic],
        "once, and not of failures"
    );
}

/// What comes once a window is not offered any more is the program's, and of the rest of a put nothing is written.
#[test]
fn a_window_that_is_not_offered_is_as_one_that_is_not_entered() {
    let mut bench = Bench::new();
    bench.window(2, 64, PUT | ATOMIC | GET);
    let first = Header {
        flags: Flags::FIRST,
        ..put(1, 0, 2, 16, 12)
    };
    assert_eq!(bench.follow(first, &[1; 8]), Came::Nothing);
    bench.port.control.offer(2, false);
    let last = Header {
        flags: Flags::LAST,
        offset: 24,
        ..first
    };
    assert_eq!(status(bench.follow(last, &[1; 4])), RmaStatus::NoWindow);
    assert_eq!(bench.memory(2)[24], 0);
    let payload = AtomicBody::FetchAdd(5).to_bytes();
    assert_eq!(bench.follow(add(2, 0, 2, 8), &payload), Came::Nothing);
    assert_eq!(bench.records().len(), 1);
    bench.port.control.offer(2, true);
    assert_eq!(bench.follow(add(2, 0, 2, 8), &payload), Came::Nothing);
    assert_eq!(
        status(bench.follow(add(3, 0, 2, 8), &payload)),
        RmaStatus::Ok
    );
    assert_eq!(bench.memory(2)[8], 5);
    bench.window(4096, 64, ATOMIC);
    assert_eq!(bench.follow(add(4, 1, 4096, 8), &payload), Came::Nothing);
}

/// What the program has performed, or the MCP, stays with it: else it would be done twice, or not be answered.
#[test]
fn an_operation_stays_with_who_has_begun_it() {
    let mut bench = Bench::new();
    let payload = AtomicBody::FetchAdd(5).to_bytes();
    assert_eq!(bench.follow(add(1, 0, 2, 8), &payload), Came::Nothing);
    bench.window(2, 64, ATOMIC);
    assert_eq!(bench.follow(add(1, 0, 2, 8), &payload), Came::Nothing);
    assert_eq!(bench.records().len(), 2);
    assert_eq!(bench.memory(2)[8], 0);
    assert_eq!(
        status(bench.follow(add(2, 0, 2, 8), &payload)),
        RmaStatus::Ok
    );
    bench.port.remove_window(2);
    assert_eq!(
        status(bench.follow(add(2, 0, 2, 8), &payload)),
        RmaStatus::Ok
    );
    bench.window(2, 64, PUT);
    let first = Header {
        flags: Flags::FIRST,
        ..put(3, 0, 2, 16, 12)
    };
    assert_eq!(bench.follow(first, &[1; 8]), Came::Nothing);
    bench.port.remove_window(2);
    let last = Header {
        flags: Flags::LAST,
        offset: 24,
        ..first
    };
    assert_eq!(status(bench.follow(last, &[1; 4])), RmaStatus::NoWindow);
    assert_eq!(bench.records(), []);
    // A piece of which there was no beginning.
    let stray = Header { message: 4, ..last };
    assert_eq!(bench.follow(stray, &[1; 4]), Came::Nothing);
    assert_eq!(bench.records(), []);
}
