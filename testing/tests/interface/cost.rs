//! What the interface program takes for a packet, by length: printed, not judged. Run it alone on a quiet machine:
//! `cargo test --release -p bcl-testing --test interface cost -- --nocapture`.

use std::net::SocketAddrV4;

use bcl_layout::tables::Window;
use bcl_wire::{Flags, Header, JobKeys, Kind, seal};

use crate::frame::frame;
use crate::kernel::{HERE, Kernel, PORT, entry, keys, load};

const ID: u32 = 5;
const WINDOW: u16 = 1;
/// Runs of which the median counts. Unoptimised it is not about figures, only about whether they can be had.
const RUNS: usize = if cfg!(debug_assertions) { 3 } else { 41 };
/// How often a packet is shown in a run that changes nothing.
const REPEATED: u32 = 200;

struct Scene {
    job: JobKeys,
    kernel: Kernel,
    sequence: u32,
}

impl Scene {
    /// What a packet takes for which `header` asks, in its turn; in ns.
    fn in_turn(&mut self, len: usize, header: impl Fn(u32) -> Header) -> u32 {
        self.median(1, |scene| {
            let mut header = header(scene.sequence);
            header.sequence = scene.sequence;
            scene.sequence += 1;
            scene.frame(header, len)
        })
    }

    fn median(&mut self, repeat: u32, frame: impl Fn(&mut Self) -> Vec<u8>) -> u32 {
        let mut out = vec![0; 10_000];
        let mut runs: Vec<u32> = (0..RUNS)
            .map(|_| {
                let frame = frame(self);
                let ran = self
                    .kernel
                    .mcp
                    .run(&frame, &mut out, repeat)
                    .expect("it runs");
                while self.kernel.ring.first().is_some() {
                    self.kernel.ring.release();
                }
                ran.duration_ns
            })
            .collect();
        runs.sort_unstable();
        runs[RUNS / 2]
    }

    fn frame(&self, mut header: Header, len: usize) -> Vec<u8> {
        header.to_connection = ID;
        header.from_port = 9;
        header.to_port = PORT;
        header.payload_len_bytes = len as u16;
        let payload = vec![0x5a; len];
        let mut head = header.to_bytes();
        let key = keys(&self.job, ID).from_initiator;
        seal(&mut head, &payload, &self.job, &key);
        let from: SocketAddrV4 = "10.77.0.2:20009".parse().expect("an address");
        frame(from, HERE, &[&head[..], &payload].concat())
    }
}

fn body(len: usize) -> Header {
    let mut header = Header::new(Kind::Body);
    header.channel = 1;
    header.length = len as u64;
    header
}

/// Every PUT is an operation of its own, and is answered.
fn put(len: usize, sequence: u32) -> Header {
    let mut header = Header::new(Kind::Put);
    header.channel = WINDOW;
    header.flags = Flags::FIRST | Flags::LAST;
    header.message = sequence + 1;
    header.length = len as u64;
    header
}

fn get(len: usize) -> Header {
    let mut header = Header::new(Kind::Get);
    header.channel = WINDOW;
    header.flags = Flags::PADDED;
    header.length = len as u64;
    header
}

#[test]
fn cost_by_length() {
    let Some(mcp) = load() else {
        return;
    };
    let job = JobKeys::derive(&[4; 32]);
    let mut kernel = Kernel::new(mcp, &job, 1 << 24);
    kernel.enter_connection(&entry(&job, ID, 0));
    kernel.enter_window(WINDOW, 0, 1 << 20, Window::PUT | Window::GET);
    let mut scene = Scene {
        job,
        kernel,
        sequence: 0,
    };
    println!(
        "in ns                 the same packet again and again           once each, answered if so"
    );
    println!(
        "payload   left alone   wrong check   into the ring      into the ring      PUT      GET"
    );
    for len in [8, 1436, 3336, 8888] {
        let alone = scene.median(REPEATED, |scene| {
            let mut frame = scene.frame(body(len), len);
            frame[42 + 8] ^= 0x40; // a connection that is not entered
            frame
        });
        let wrong = scene.median(REPEATED, |scene| {
            let mut frame = scene.frame(body(len), len);
            frame[42 + 63] ^= 1;
            frame
        });
        let ring = scene.median(REPEATED, |scene| {
            scene.frame(Header::new(Kind::Answer), len)
        });
        let turn = scene.in_turn(len, |_| body(len));
        let put = scene.in_turn(len, |sequence| put(len, sequence));
        let get = scene.in_turn(len, |_| get(len));
        println!(
            "{len:7}   {alone:10}   {wrong:11}   {ring:13}      {turn:13}   {put:6}   {get:6}"
        );
    }
}
