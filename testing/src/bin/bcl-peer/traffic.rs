//! Half of a pair that exchanges messages of random size and contents, on all kinds of channels at once.

use std::io::stdin;

use bcl::{Access, Address, Buffer, DmaBuffer, Event, Port, Which};
use bcl_testing::PATIENCE;
use bcl_testing::contents;
use bcl_types::Random;

/// Normal channels in use.
const CHANNELS: u64 = 3;
/// Operations under way at a time.
const DEPTH: u64 = 32;
/// Posts on each channel at a time.
const POSTS: u64 = 8;
/// Window that is written and read back, whole.
const MIRROR: u16 = 2;
const MIRROR_LEN: usize = 20_000;

/// Exchanges `count` messages of up to `longest` bytes each way with the other port, both numbers well known.
pub fn run(own: u16, other: &str, count: u64, longest: u64) {
    let to: Address = other.parse().expect("the other port is an address");
    let mut port = Port::options().number(own).open().expect("a port opens");
    let window = DmaBuffer::new(4096).expect("there is memory");
    port.bind(0, window, Access::ALL).expect("a window binds");
    port.bind(1, vec![0; 4096], Access::ALL)
        .expect("a window binds");
    port.bind(MIRROR, vec![0; MIRROR_LEN], Access::ALL)
        .expect("a window binds");
    println!("{}", port.address());
    let mut line = String::new();
    stdin().read_line(&mut line).expect("the test says go");
    let mut half = Half {
        to,
        own: u64::from(own),
        count,
        longest,
        next_out: 0,
        under_way: 0,
        ended: 0,
        expected: (0..=CHANNELS)
            .map(|channel| {
                let on_it =
                    |number: &u64| plan(u64::from(to.port), *number, longest).channel == channel;
                (0..count).filter(on_it).collect()
            })
            .collect(),
        met: [0; CHANNELS as usize + 1],
        arrived: 0,
        words: 0,
        mirrored: None,
    };
    half.run(&mut port);
    println!("done");
    line.clear();
    stdin().read_line(&mut line).expect("the test says go");
}

/// What message `number` of the port `from` is like; both ends compute it.
struct Plan {
    /// 0 is the system channel.
    channel: u64,
    len: usize,
    dma: bool,
}

fn plan(from: u64, number: u64, longest: u64) -> Plan {
    let mut random = Random::new(from << 32 | number);
    let channel = random.below(CHANNELS + 1);
    // Mostly short ones, as in life; each size class is met.
    let bound = match random.below(8) {
        0 => longest,
        1 | 2 => 20_000.min(longest),
        3..=5 => 2_000,
        _ => 49,
    };
    let limit = if channel == 0 {
        bcl::SYSTEM_MAX as u64
    } else {
        longest
    };
    Plan {
        channel,
        len: random.below(bound.min(limit) + 1) as usize,
        dma: random.below(6) == 0,
    }
}

struct Half {
    to: Address,
    own: u64,
    count: u64,
    longest: u64,
    next_out: u64,
    under_way: u64,
    ended: u64,
    /// Numbers of the messages that each channel brings, in order.
    expected: Vec<Vec<u64>>,
    /// System messages so far, and posts so far on each normal channel.
    met: [u64; CHANNELS as usize + 1],
    arrived: u64,
    words: u64,
    /// Seed of what is being written to the other's mirror; inverted while it is read back.
    mirrored: Option<u64>,
}

impl Half {
    fn run(&mut self, port: &mut Port) {
        for channel in 1..=CHANNELS {
            for _ in 0..POSTS {
                self.post(port, channel as u16);
            }
        }
        while self.ended < self.count || self.arrived < self.count || self.mirrored.is_some() {
            while self.under_way < DEPTH && self.next_out < self.count {
                self.send(port);
            }
            let event = port
                .wait(Which::Any, Some(PATIENCE))
                .expect("the port is open");
            let Some(event) = event else {
                panic!(
                    "stuck: {} of {} sends ended, {} messages arrived",
                    self.ended, self.count, self.arrived
                )
            };
            self.on_event(port, event);
        }
    }

    fn post(&mut self, port: &mut Port, channel: u16) {
        let posts = &mut self.met[usize::from(channel)];
        port.post(channel, vec![0; self.longest as usize], *posts)
            .expect("a post starts");
        *posts += 1;
    }

    fn send(&mut self, port: &mut Port) {
        let number = self.next_out;
        let Plan { channel, len, dma } = plan(self.own, number, self.longest);
        let bytes = contents::bytes(self.own << 32 | number, len);
        self.next_out += 1;
        self.under_way += 1;
        let sent = if channel == 0 {
            port.send_system(self.to, &bytes, number)
        } else {
            port.send(self.to, channel as u16, buffer(bytes, dma), number)
        };
        sent.expect("a send starts");
        // One-sided operations in between: a word that only we change, directly and through the thread.
        if number.is_multiple_of(5) {
            let window = (number / 5 % 2) as u16;
            port.fetch_add(self.to, window, 8 * u64::from(window), 1, self.words / 2)
                .expect("an atomic starts");
            self.words += 1;
            self.under_way += 1;
        }
        if self.mirrored.is_none() {
            self.mirrored = Some(number);
            let bytes = contents::bytes(number, MIRROR_LEN);
            port.put(self.to, MIRROR, 0, bytes, number)
                .expect("a put starts");
        }
    }

    /// What was put is read back; what was read back is what was put.
    fn on_mirrored(&mut self, port: &mut Port, seed: u64, buffer: Option<Buffer>) {
        let Some(buffer) = buffer else {
            panic!("operations bring their buffer back");
        };
        let bytes = buffer.into_vec();
        contents::check(seed, &bytes);
        if self.mirrored == Some(seed) {
            self.mirrored = Some(!seed);
            port.get(self.to, MIRROR, 0, vec![0; MIRROR_LEN], seed)
                .expect("a get starts");
        } else {
            self.mirrored = None;
        }
    }

    fn on_event(&mut self, port: &mut Port, event: Event) {
        match event {
            Event::Sent { cookie, result, .. } => {
                assert_eq!(result, Ok(()), "message {cookie}");
                self.under_way -= 1;
                self.ended += 1;
            }
            Event::RmaDone {
                cookie,
                value,
                result,
                window,
                buffer,
                ..
            } => {
                assert_eq!(result, Ok(()), "window {window}");
                if window == MIRROR {
                    return self.on_mirrored(port, cookie, buffer);
                }
                assert_eq!(value, cookie, "window {window}");
                self.under_way -= 1;
            }
            Event::Message(message) => {
                self.check(0, self.met[0], port.data(&message));
                self.met[0] += 1;
                port.release(message).expect("a message can be released");
            }
            Event::Received {
                cookie,
                channel,
                result,
                len_bytes,
                buffer,
                ..
            } => {
                assert_eq!(result, Ok(()), "channel {channel}");
                let bytes = buffer.expect("posts bring their buffer back").into_vec();
                self.check(channel, cookie, &bytes[..len_bytes as usize]);
                self.post(port, channel);
            }
            Event::PeerGone { cause, .. } => panic!("the peer is gone: {cause}"),
            _ => {}
        }
    }

    /// The messages of a channel meet its posts in order, whichever is copied first.
    fn check(&mut self, channel: u16, index: u64, bytes: &[u8]) {
        let from = u64::from(self.to.port);
        let number = self.expected[usize::from(channel)][index as usize];
        assert_eq!(
            bytes.len(),
            plan(from, number, self.longest).len,
            "message {number}"
        );
        contents::check(from << 32 | number, bytes);
        self.arrived += 1;
    }
}

fn buffer(bytes: Vec<u8>, dma: bool) -> Buffer {
    if !dma {
        return bytes.into();
    }
    let mut buffer = DmaBuffer::new(bytes.len().max(1)).expect("there is memory");
    if bytes.is_empty() {
        return bytes.into();
    }
    buffer.copy_from_slice(&bytes);
    buffer.into()
}
