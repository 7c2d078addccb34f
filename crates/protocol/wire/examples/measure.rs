//! What the check of a packet costs: `cargo run --release -p bcl-wire --example measure`.

use std::hint::black_box;
use std::time::Instant;

use bcl_wire::{HEADER_LEN, Header, JobKeys, Kind, Transcript, parse, seal, verify};

/// The best of so many rounds: others on the machine can only make one longer.
const ROUNDS: u32 = 200;
const REPEATS: u32 = 1000;

fn main() {
    let job = JobKeys::derive(&[7; 32]);
    let keys = job.connection(&Transcript {
        initiator: (1, 2),
        responder: (3, 4),
        initiator_incarnation: 5,
        responder_incarnation: 6,
        initiator_nonce: 7,
        token: 8,
    });
    let key = keys.from_initiator;
    println!(
        "{:>8} {:>9} {:>9} {:>9}",
        "payload", "verify", "seal", "parse"
    );
    for len in [0, 8, 64, 256, 1400, 8192, 8888] {
        let mut datagram = vec![0xa5; HEADER_LEN + len];
        let mut header = Header::new(Kind::Body);
        header.payload_len_bytes = len as u16;
        header.length = len as u64;
        (header.from_port, header.to_port, header.channel) = (1024, 7, 3);
        let mut head = header.to_bytes();
        let (_, payload) = datagram.split_at(HEADER_LEN);
        seal(&mut head, payload, &job, &key);
        datagram[..HEADER_LEN].copy_from_slice(&head);
        assert!(verify(&datagram, &job, &key) && parse(&datagram).is_ok());
        let payload = &datagram[HEADER_LEN..];
        let verify_ns = best_ns(|| u64::from(verify(black_box(&datagram), &job, &key)));
        let parse_ns =
            best_ns(|| parse(black_box(&datagram)).map_or(0, |(header, _)| header.length));
        let seal_ns = best_ns(|| {
            seal(black_box(&mut head), black_box(payload), &job, &key);
            u64::from(head[63])
        });
        println!(
            "{len:>6} B {verify_ns:>6.1} ns {seal_ns:>6.1} ns {parse_ns:>6.1} ns {:>6.1} GB/s checked",
            len as f64 / verify_ns
        );
    }
}

fn best_ns(mut work: impl FnMut() -> u64) -> f64 {
    let round = |_| {
        let start = Instant::now();
        for _ in 0..REPEATS {
            black_box(work());
        }
        start.elapsed().as_nanos() as f64 / f64::from(REPEATS)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}
