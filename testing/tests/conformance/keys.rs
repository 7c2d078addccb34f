//! SEM-2.1: ports that have keys of their own, which peers are told.

use std::time::{Duration, Instant};

use bcl::{JobKey, OpError};
use bcl_observe::{Counter, attach};
use bcl_raw::{Event, Options, PeerKeys, RawPort, Which};
use bcl_testing::{Fixture, World, conformance};

/// A port on raw memory, and what has happened on it.
struct Party {
    port: RawPort,
    /// What it is told of others' keys.
    told: PeerKeys,
    key: JobKey,
    /// What was given along with the messages that came.
    came: Vec<u64>,
    sent: Vec<Result<(), OpError>>,
    gone: usize,
}

fn open<F: Fixture>(world: &World<F>, number: Option<u16>) -> Party {
    let (told, key) = (PeerKeys::default(), JobKey::random().unwrap());
    let options = Options {
        number,
        key: Some(key.clone()),
        peer_keys: told.clone(),
        ..world.raw_options()
    };
    Party {
        port: options.open().unwrap(),
        told,
        key,
        came: Vec::new(),
        sent: Vec::new(),
        gone: 0,
    }
}

impl Party {
    fn is_told(&self, of: &Self) {
        self.told.set(of.port.address(), of.key.clone());
    }

    fn send(&mut self, to: &Self, number: u64) {
        let to = to.port.address();
        self.port.send_system(to, b"hello", number, 0).unwrap();
    }

    fn look(&mut self) {
        while let Some(event) = self.port.poll(Which::Any).unwrap() {
            match event {
                Event::Message(message) => {
                    self.came.push(message.immediate());
                    self.port.release(message.handle()).unwrap();
                }
                Event::Sent { result, .. } => self.sent.push(result),
                Event::PeerGone { .. } => self.gone += 1,
                _ => {}
            }
        }
    }
}

/// Both look until it is so.
fn until(one: &mut Party, other: &mut Party, is_so: impl Fn(&Party, &Party) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so(one, other) {
        assert!(Instant::now() < deadline, "it never was so");
        one.look();
        other.look();
        std::thread::yield_now();
    }
}

conformance! {
    /// SEM-2.1: one of them is told the other's key, and both can talk.
    fn who_is_told_a_ports_key_reaches_it(world) {
        let (mut one, mut other) = (open(world, None), open(world, None));
        one.is_told(&other);
        one.send(&other, 1);
        until(&mut one, &mut other, |_, other| other.came == [1]);
        other.send(&one, 2);
        until(&mut one, &mut other, |one, _| one.came == [2]);
    }

    /// SEM-2.1: what is known when contact is wanted counts.
    fn what_is_forgotten_after_that_is_known_long_enough(world) {
        let (mut one, mut other) = (open(world, None), open(world, None));
        one.is_told(&other);
        one.send(&other, 1);
        one.told.forget(other.port.address());
        until(&mut one, &mut other, |_, other| other.came == [1]);
    }

    /// SEM-1.5, 2.1: both make contact at once, each with the key of the other.
    fn both_make_contact_at_once(world) {
        for _ in 0..20 {
            let (mut one, mut other) = (open(world, None), open(world, None));
            one.is_told(&other);
            other.is_told(&one);
            one.send(&other, 1);
            other.send(&one, 2);
            until(&mut one, &mut other, |one, other| one.came.len() + other.came.len() == 2);
            assert!(one.came == [2] && other.came == [1]);
            assert_eq!((one.gone, other.gone), (0, 0));
        }
    }

    /// SEM-2.1: whoever was told another key, or none, is refused, and that is counted.
    fn a_wrong_key_is_refused_and_counted(world) {
        let (mut one, mut other) = (open(world, None), open(world, None));
        let refused = |address| {
            let folder = bcl::Folder::open(world.folder()).unwrap();
            attach(&folder, address).unwrap().read(Counter::RefusedKey)
        };
        one.send(&other, 3);
        until(&mut one, &mut other, |one, _| one.sent.len() == 1);
        let before = refused(other.port.address());
        assert!(before > 0);
        one.told.set(other.port.address(), JobKey::random().unwrap());
        one.send(&other, 4);
        until(&mut one, &mut other, |one, _| one.sent.len() == 2);
        assert_eq!(one.sent, [Err(OpError::KeyMismatch); 2]);
        assert!(refused(other.port.address()) > before);
        assert!(other.came.is_empty());
        one.is_told(&other);
        one.send(&other, 5);
        until(&mut one, &mut other, |_, other| other.came == [5]);
    }

    /// SEM-2.1: a port that has the address of another which is gone has another key: whoever was told the old one does not
    /// reach it, and does once it is told the new one.
    fn an_address_that_another_has_now_is_reached_by_its_new_key(world) {
        let (mut one, mut old) = (open(world, None), open(world, None));
        one.is_told(&old);
        one.send(&old, 6);
        until(&mut one, &mut old, |_, old| old.came == [6]);
        let number = old.port.address().port;
        drop(old);
        let mut new = open(world, Some(number));
        until(&mut one, &mut new, |one, _| one.gone == 1);
        one.sent.clear();
        one.send(&new, 7);
        until(&mut one, &mut new, |one, _| one.sent.len() == 1);
        assert_eq!(one.sent, [Err(OpError::KeyMismatch)]);
        one.is_told(&new);
        one.send(&new, 8);
        until(&mut one, &mut new, |_, new| new.came == [8]);
    }
}
