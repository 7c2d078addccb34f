//! What a middle layer does on a port of raw memory: it matches messages with buffers by tags of its own, in pieces.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_raw::{
    Address, Arrival, Event, Matcher, MessageId, OpError, OpId, Piece, RawPort, Target, Which,
};
use bcl_testing::{Fixture, World, conformance, contents};
use bcl_types::Random;

const CHANNEL: u16 = 9;

/// Buffers and messages that have not met. A message's tag is its immediate data.
#[derive(Default)]
struct Tags {
    posts: Vec<(u64, Target)>,
    messages: Vec<Arrival>,
}

impl Matcher for Tags {
    fn arrived(&mut self, arrival: &Arrival) -> Option<Target> {
        let place = self
            .posts
            .iter()
            .position(|(tag, _)| *tag == arrival.immediate);
        if place.is_none() {
            self.messages.push(*arrival);
        }
        place.map(|place| self.posts.remove(place).1)
    }

    fn withdrawn(&mut self, message: MessageId, _: u16) {
        self.messages.retain(|arrival| arrival.message != message);
    }

    fn posted(&self) -> usize {
        self.posts.len()
    }
}

/// Posts for a tag: for the oldest message that waits and has it, else for the next that comes.
fn post(port: &mut RawPort<Tags>, tag: u64, memory: &mut Scattered, cookie: u64) -> OpId {
    let target = port.begin_post_pieces(memory.table(), cookie).unwrap();
    loop {
        let messages = &mut port.matcher().messages;
        let Some(place) = messages.iter().position(|message| message.immediate == tag) else {
            port.matcher().posts.push((tag, target));
            return target.op;
        };
        let arrival = messages.remove(place);
        // SAFETY: the memory is kept until the event.
        if unsafe { port.accept(&arrival, target) } {
            return target.op;
        }
    }
}

/// Memory in pieces of lengths by chance.
struct Scattered(Vec<Vec<u8>>);

impl Scattered {
    fn new(random: &mut Random, bytes: &[u8]) -> Self {
        let mut left = bytes;
        let mut parts = Vec::new();
        while !left.is_empty() && parts.len() < 20 {
            let len = match random.below(4) {
                0 => 0,
                _ => random.below(left.len() as u64 / 2 + 2) as usize,
            };
            let (part, rest) = left.split_at(len.min(left.len()));
            parts.push(part.to_vec());
            left = rest;
        }
        parts.push(left.to_vec());
        Self(parts)
    }

    fn table(&mut self) -> Arc<[Piece]> {
        let piece = |part: &mut Vec<u8>| Piece {
            start: part.as_mut_ptr(),
            len_bytes: part.len(),
        };
        self.0.iter_mut().map(piece).collect()
    }
}

/// Both ends until so many events have come to one of them.
fn events(here: &mut RawPort<Tags>, there: &mut RawPort<Tags>, count: usize) -> Vec<Event> {
    let (mut found, start) = (Vec::new(), Instant::now());
    while found.len() < count {
        assert!(start.elapsed() < Duration::from_secs(20), "{found:?}");
        there.poll(Which::Send).unwrap();
        let event = here.poll(Which::Recv).unwrap();
        found.extend(event.filter(|event| matches!(event, Event::Received { .. })));
    }
    found
}

fn send(
    port: &mut RawPort<Tags>,
    to: Address,
    tag: u64,
    memory: &mut Scattered,
) -> Result<(), bcl_raw::Error> {
    // SAFETY: the callers keep the memory until all has arrived.
    unsafe { port.send_pieces(to, CHANNEL, memory.table(), tag, tag) }.map(drop)
}

fn pair<F: Fixture>(world: &World<F>) -> (RawPort<Tags>, RawPort<Tags>) {
    let open = || world.raw_options().open_with(Tags::default()).unwrap();
    (open(), open())
}

conformance! {
    /// SEM-4.10: each message is in the buffer of its tag, whichever was there first; those of one tag in order.
    fn tags_are_matched_on_arrival(world) {
        // What is lent goes after the ports do.
        let (mut sent, mut received) = (Vec::<Scattered>::new(), Vec::new());
        let (mut a, mut b) = pair(world);
        let mut random = Random::new(7);
        let lens = [0, 7, 48, 100, 5000, 8192, 9000, 70_000, 400_000];
        let mut messages: Vec<(u64, Vec<u8>)> = (0..60)
            .map(|seed| (1 + random.below(5), contents::bytes(seed, lens[seed as usize % 9])))
            .collect();
        let mut wanted: Vec<(u64, Vec<u8>)> = messages.clone();
        for (tag, bytes) in &mut messages {
            let mut memory = Scattered::new(&mut random, bytes);
            send(&mut a, b.address(), *tag, &mut memory).unwrap();
            sent.push(memory);
            // Some buffers are there before the message, some come after; in another order than the messages.
            while random.below(2) == 0 && received.len() < 60 {
                let place = random.below(wanted.len() as u64) as usize;
                let tag = wanted[place].0;
                let first = wanted.iter().position(|(other, _)| *other == tag).unwrap();
                let (tag, bytes) = wanted.remove(first);
                let room = vec![0; bytes.len() + random.below(3) as usize];
                let mut memory = Scattered::new(&mut random, &room);
                post(&mut b, tag, &mut memory, received.len() as u64);
                received.push((tag, bytes, memory));
            }
            b.poll(Which::Send).unwrap();
        }
        while !wanted.is_empty() {
            let (tag, bytes) = wanted.remove(0);
            let mut memory = Scattered::new(&mut random, &vec![0; bytes.len()]);
            post(&mut b, tag, &mut memory, received.len() as u64);
            received.push((tag, bytes, memory));
        }
        for event in events(&mut b, &mut a, 60) {
            let Event::Received { cookie, immediate, result, len_bytes, .. } = event else {
                unreachable!("the others were left out");
            };
            let (tag, bytes, memory) = &received[cookie as usize];
            assert_eq!((result, immediate, len_bytes), (Ok(()), *tag, bytes.len() as u64));
            let found = memory.0.concat();
            assert_eq!(&found[..bytes.len()], bytes);
            assert!(found[bytes.len()..].iter().all(|byte| *byte == 0));
        }
    }

    /// SEM-4.8: what came with a message that has gone is not told of the buffer it was to get.
    fn a_buffer_is_told_nothing_of_a_message_that_has_gone(world) {
        let mut memory = Scattered(vec![vec![0; 8]]);
        let (mut a, mut b) = pair(world);
        let gone = Arrival {
            message: MessageId { device: F::DEVICE, slot: 0, link: 99, number: 9 },
            from: a.address(),
            channel: CHANNEL,
            len_bytes: 8,
            immediate: 7,
        };
        let target = b.begin_post_pieces(memory.table(), 1).unwrap();
        // SAFETY: the memory goes after the ports do.
        assert!(!unsafe { b.accept(&gone, target) });
        b.end_post(CHANNEL, target.op);
        let canceled = &events(&mut b, &mut a, 1)[0];
        assert!(matches!(canceled, Event::Received { immediate: 0, .. }), "{canceled:?}");
    }

    /// A buffer that the matcher takes back ends its operation; a message whose sender leaves is withdrawn.
    fn what_waits_can_end(world) {
        let mut random = Random::new(1);
        let mut memory = Scattered::new(&mut random, &[0; 100]);
        let mut long = Scattered::new(&mut random, &contents::bytes(1, 100_000));
        let (mut a, mut b) = pair(world);
        let op = post(&mut b, 5, &mut memory, 50);
        b.matcher().posts.clear();
        b.end_post(CHANNEL, op);
        let canceled = &events(&mut b, &mut a, 1)[0];
        assert!(matches!(canceled, Event::Received { cookie: 50, result: Err(OpError::Canceled), .. }));

        send(&mut a, b.address(), 6, &mut long).unwrap();
        let start = Instant::now();
        let serve = |a: &mut RawPort<Tags>, b: &mut RawPort<Tags>, waiting: usize| {
            while b.matcher().messages.len() != waiting {
                assert!(start.elapsed() < Duration::from_secs(20));
                let _ = a.poll(Which::Send);
                b.poll(Which::Recv).unwrap();
            }
        };
        serve(&mut a, &mut b, 1);
        a.close().unwrap();
        serve(&mut a, &mut b, 0);
    }
}
