//! The ring and its room ([MCP-6]).

use bcl_wire::{Header, Kind};

use crate::bench::{Bench, data, peers_address};

#[test]
fn records_are_read_as_they_were_put_past_the_end_of_the_ring() {
    let mut bench = Bench::with(32 << 10, 0);
    let mut number = 0u32;
    for round in 0..200u32 {
        for len in [0, 1, 152, 153, 1944, 1945, 8192] {
            let payload = vec![round as u8; len];
            let header = Header {
                channel: 3,
                ..data(number, &payload)
            };
            bench.follow(header, &payload);
            let record = bench.port.ring.next_record().expect("a record");
            assert_eq!(record.from, peers_address().into());
            assert_eq!(record.payload, payload);
            let header = bcl_wire::parse_header(record.header).expect("a header");
            assert_eq!((header.message, record.ack), (number, number + 1));
            bench.port.ring.release();
            number += 1;
        }
    }
    assert_eq!(bench.port.ring.used_bytes(), 0);
}

#[test]
fn a_record_takes_the_least_size_that_is_enough() {
    for (len, cost) in [
        (152, 256),
        (153, 2048),
        (1944, 2048),
        (1945, 9216),
        (8192, 9216),
    ] {
        let mut bench = Bench::with(32 << 10, 0);
        let header = Header {
            channel: 3,
            ..data(0, &vec![0; len])
        };
        bench.follow(header, &vec![0; len]);
        assert_eq!(bench.port.ring.used_bytes(), cost, "{len}");
    }
}

#[test]
fn a_ring_is_never_full_to_its_last_byte() {
    // 16 records of 256 bytes would be as long as the ring.
    let mut bench = Bench::with(4096, 0);
    let cts = Header::new(Kind::Cts);
    for _ in 0..15 {
        bench.follow(cts, &[]);
    }
    bench.follow(cts, &[]);
    assert_eq!(bench.port.counters.no_room, 1);
    assert_eq!(bench.port.ring.used_bytes(), 15 * 256);
    bench.next = 15;
    bench.port.ring.release();
    bench.follow(cts, &[]);
    assert_eq!(bench.port.counters.no_room, 1);
}

#[test]
fn a_sleeping_program_is_woken_after_the_record() {
    let mut bench = Bench::new();
    bench.follow(Header::new(Kind::Cts), &[]);
    assert_eq!(bench.port.counters.wakes, 0);
    bench.port.control.sleeps = true;
    bench.follow(Header::new(Kind::Cts), &[]);
    assert_eq!(bench.port.counters.wakes, 1);
    assert_eq!(bench.port.ring.used_bytes(), 2 * 256 + 16);
    assert_eq!(bench.records().len(), 2);
    assert_eq!(bench.port.ring.used_bytes(), 0);
}
