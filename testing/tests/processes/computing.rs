//! Senders of long messages that compute instead of doing their part of the copy ([SHM-4.14]).

use std::time::{Duration, Instant};

use bcl::{CopyMode, Event, Folder, Port, Which};
use bcl_observe::{Counter, attach};
use bcl_testing::{World, contents};
use bcl_types::Random;

const CHANNEL: u16 = 1;
/// What no test waits for longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two ports of a world, each polled by the test alone.
struct Pair {
    sender: Port,
    receiver: Port,
    lens: Vec<usize>,
    sent: usize,
    received: usize,
    world: World,
}

impl Pair {
    fn open() -> Self {
        let world: World = World::new();
        let open = || {
            let options = world.options().copy_mode(CopyMode::Auto);
            options.open().expect("a port opens")
        };
        Self {
            sender: open(),
            receiver: open(),
            lens: Vec::new(),
            sent: 0,
            received: 0,
            world,
        }
    }

    /// A short message has come already.
    fn that_has_met() -> Self {
        let mut pair = Self::open();
        pair.send(10);
        pair.finish();
        pair
    }

    /// Sends the next message, for which a buffer is posted as well.
    fn send(&mut self, len_bytes: usize) {
        let number = self.lens.len() as u64;
        self.lens.push(len_bytes);
        let post = self.receiver.post(CHANNEL, vec![0; len_bytes], number);
        post.expect("a post");
        let message = contents::bytes(number, len_bytes);
        let to = self.receiver.address();
        let send = self.sender.send(to, CHANNEL, message, number);
        send.expect("a send");
    }

    fn poll_sender(&mut self) {
        if let Some(Event::Sent { result, .. }) = self.sender.poll(Which::Any).expect("a poll") {
            assert_eq!(result, Ok(()));
            self.sent += 1;
        }
    }

    fn poll_receiver(&mut self) {
        if let Some(Event::Received {
            result,
            buffer,
            cookie,
            ..
        }) = self.receiver.poll(Which::Any).expect("a poll")
        {
            assert_eq!(result, Ok(()));
            let bytes = buffer.expect("posts bring their buffer back").into_vec();
            assert_eq!(bytes.len(), self.lens[cookie as usize]);
            contents::check(cookie, &bytes);
            self.received += 1;
        }
    }

    /// Polls the receiver alone until it is so.
    fn poll_receiver_until(&mut self, is_so: impl Fn(&Self) -> bool) {
        self.until(Self::poll_receiver, is_so);
    }

    /// Polls both until all has come and both know.
    fn finish(&mut self) {
        let poll_both = |pair: &mut Self| {
            pair.poll_sender();
            pair.poll_receiver();
        };
        self.until(poll_both, |pair| {
            pair.sent >= pair.lens.len() && pair.received >= pair.lens.len()
        });
    }

    fn until(&mut self, poll: impl Fn(&mut Self), is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            poll(self);
            let (received, all) = (self.received, self.lens.len());
            assert!(Instant::now() < deadline, "{received} of {all} have come");
        }
    }

    fn count(&self, counter: Counter) -> u64 {
        let folder = Folder::open(self.world.folder()).expect("the world's folder");
        let port = attach(&folder, self.receiver.address());
        port.expect("the receiver is open").read(counter)
    }
}

#[test]
fn a_sender_that_computes_does_not_hold_up_its_messages() {
    let mut pair = Pair::that_has_met();
    for number in 2..22 {
        pair.send(300_000);
        pair.poll_receiver_until(|pair| pair.received == number);
    }
    let taken_back = pair.count(Counter::StreamsTakenBack);
    assert!(
        (1..10).contains(&taken_back),
        "{taken_back} were waited for"
    );
    pair.finish();
    // It polls again, and is asked to stream again.
    for _ in 0..2000 {
        pair.send(10_000);
        pair.finish();
    }
    let [streamed, copied] =
        [Counter::LongThroughRing, Counter::LongByKernel].map(|counter| pair.count(counter));
    assert!(streamed > 0, "{streamed} streamed, {copied} copied");
    assert_eq!(streamed + copied, 2020);
}

/// The kernel has begun with a message by the time its sender streams it.
#[test]
fn a_message_comes_both_ways_at_once() {
    let mut pair = Pair::that_has_met();
    for number in 1..4 {
        pair.send(8 << 20);
        let before = pair.received;
        pair.poll_receiver_until(|pair| pair.count(Counter::StreamsTakenBack) == number);
        // Only a part has been copied.
        assert_eq!(pair.received, before);
        pair.finish();
        // It is asked again.
        while pair.count(Counter::LongThroughRing) < number {
            pair.send(100_000);
            pair.finish();
        }
    }
}

/// Either looks away at any moment for longer than a stream may stand still, or only for a moment.
#[test]
fn whoever_looks_away_everything_arrives_whole() {
    let mut taken_back = 0;
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let mut pair = Pair::open();
        for _ in 0..100 {
            for _ in 0..random.below(3) {
                pair.send(8_193 + random.below(200_000) as usize);
            }
            for _ in 0..random.below(6) {
                pair.poll_sender();
            }
            let polls = [1, 20, 3_000][random.below(3) as usize];
            for _ in 0..polls {
                pair.poll_receiver();
            }
        }
        pair.finish();
        assert_eq!(pair.count(Counter::ProtocolErrors), 0);
        taken_back += pair.count(Counter::StreamsTakenBack);
    }
    assert!(taken_back > 20, "{taken_back}");
}
