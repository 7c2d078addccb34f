//! ADI-4.6, 5.5: short messages that were announced for want of credit come when there is some.

use std::cell::RefCell;
use std::rc::Rc;

use bcl_raw::slab::Id;

use super::alone::{endpoint, message_of};
use super::cheats::message;
use super::network::{Network, Socket, address};
use super::world::{Step, World};
use crate::completion::Completion;
use crate::credit::charge;
use crate::engine::{Engine, Receive, Source, Wanted};
use crate::memory::Memory;

/// What an endpoint has said to peer 1 since it was asked: kinds and flags.
fn said(network: &RefCell<Network>) -> Vec<(u8, u8, Vec<u8>)> {
    let systems = &mut network.borrow_mut().systems;
    let said = systems.remove(&(0, 1)).unwrap_or_default();
    let parts = said.into_iter().map(|system| {
        let bytes = system.bytes;
        (bytes[1], bytes[2], bytes[8..].to_vec())
    });
    parts.collect()
}

/// A sender that has announced messages of these lengths.
struct Sender {
    engine: Engine,
    socket: Socket,
    network: Rc<RefCell<Network>>,
    names: Vec<[u8; 8]>,
}

fn sender(lens: &[usize]) -> Sender {
    let (engine, socket, network) = endpoint(0);
    let mut sender = Sender {
        engine,
        socket,
        network,
        names: Vec::new(),
    };
    for len in lens {
        sender.send(*len);
    }
    let announced = said(&sender.network);
    assert!(
        announced
            .iter()
            .all(|(kind, flags, _)| (*kind, *flags) == (2, 0x40))
    );
    let name = |words: &Vec<u8>| words.last_chunk().copied();
    sender.names = announced
        .iter()
        .filter_map(|(.., words)| name(words))
        .collect();
    sender
}

impl Sender {
    fn send(&mut self, len: usize) {
        let mut bytes = vec![7; len];
        // SAFETY: the message is kept.
        unsafe { self.engine.send(&mut self.socket, message_of(&mut bytes)) }.unwrap();
    }

    fn hear(&mut self, kind: u8, flags: u8, words: &[u8], limit: u32) {
        let mut bytes = message(kind, flags, &[], words);
        bytes[4..8].copy_from_slice(&limit.to_le_bytes());
        let heard = self.engine.arrived(&mut self.socket, address(1), 0, &bytes);
        heard.unwrap();
        assert_eq!(self.engine.depths().faults, 0);
    }

    /// The names of messages that have gone as DATA, and with which flags.
    fn gone(&self) -> Vec<(u8, usize)> {
        let said = said(&self.network).into_iter();
        let place = |words: &[u8]| self.names.iter().position(|name| words.starts_with(name));
        said.map(|(kind, flags, words)| {
            assert_eq!(kind, 4);
            (flags, place(&words).expect("it was announced"))
        })
        .collect()
    }
}

/// As many as there is credit for, in their order; what is sent after them stays after them, whole or not.
#[test]
fn what_there_is_credit_for_is_pushed() {
    let mut sender = sender(&[8, 1000, 8]);
    sender.hear(5, 0, &[], charge(8) + charge(1000) - 1);
    assert_eq!(sender.gone(), [(0x20, 0)]);
    sender.send(8);
    let announced = said(&sender.network);
    assert_eq!(
        (announced.len(), announced[0].0),
        (1, 2),
        "it waits behind others"
    );
    sender.names.push(*announced[0].2.last_chunk().unwrap());
    sender.hear(5, 0, &[], 3 * charge(8) + charge(1000));
    assert_eq!(sender.gone(), [(0x20, 1), (0x20, 2), (0x20, 3)]);
    let depths = sender.engine.depths();
    assert_eq!((depths.held, depths.outgoing, depths.kept_bytes), (0, 0, 0));
    sender.hear(5, 0, &[], 4 * charge(8) + charge(1000));
    sender.send(8);
    let said = said(&sender.network);
    assert_eq!((said.len(), said[0].0), (1, 1), "nobody is before it");
}

/// What was asked for goes once, at no cost; what is not wanted goes no more; both make way for others.
#[test]
fn what_was_asked_for_is_not_pushed() {
    let mut sender = sender(&[1000, 2000, 8]);
    let (first, second) = (sender.names[0], sender.names[1]);
    sender.hear(3, 0, &first, charge(8));
    assert_eq!(sender.gone(), [(0, 0)]);
    sender.hear(3, 0x80, &second, charge(8));
    assert_eq!(sender.gone(), [(0x20, 2)]);
    assert_eq!(sender.engine.depths().outgoing, 0);
}

/// Not either if it could not leave yet, though there is credit now.
#[test]
fn what_was_asked_for_waits_for_room_and_is_not_pushed() {
    let mut sender = sender(&[8]);
    let name = sender.names[0];
    sender.network.borrow_mut().refusals[0] = 1;
    sender.hear(3, 0, &name, 0);
    sender.hear(5, 0, &[], charge(8));
    assert!(sender.gone().is_empty());
    sender.engine.catch_up(&mut sender.socket).unwrap();
    assert_eq!(sender.gone(), [(0, 0)]);
}

/// Who asks for what has been pushed meanwhile, or wants it not, could not know.
#[test]
fn a_request_for_what_was_pushed_is_late() {
    let mut sender = sender(&[8, 8]);
    sender.hear(5, 0, &[], 2 * charge(8));
    assert_eq!(sender.gone().len(), 2);
    for (name, flags) in [(sender.names[0], 0), (sender.names[1], 0x80)] {
        sender.hear(3, flags, &name, 2 * charge(8));
    }
    assert!(sender.gone().is_empty());
}

/// What the port has no room for costs nothing, and goes later.
#[test]
fn pushing_waits_for_room() {
    let mut sender = sender(&[8, 8]);
    sender.network.borrow_mut().refusals[0] = 3;
    sender.hear(5, 0, &[], charge(8));
    sender.hear(5, 0, &[], charge(8));
    let peer = sender.engine.peers.number_of(address(1));
    let tasks: usize = sender.engine.peers[peer]
        .backlog
        .iter()
        .map(|lane| lane.len())
        .sum();
    assert_eq!(tasks, 1, "what a peer says adds nothing to what waits");
    for gone in [0, 0, 0, 1] {
        assert_eq!(sender.gone().len(), gone);
        sender.engine.catch_up(&mut sender.socket).unwrap();
    }
    assert_eq!(sender.engine.depths().backlogs, 0);
    sender.hear(5, 0, &[], 2 * charge(8));
    assert_eq!(sender.gone(), [(0x20, 1)]);
}

/// Those that cannot leave at once take no more of the port's room than others may.
#[test]
fn pushing_leaves_room_to_others() {
    // The network says of 57 that they have not left.
    let mut sender = sender(&[8; 60]);
    sender.hear(5, 0, &[], 60 * charge(8));
    let mut sum = sender.gone().len();
    assert_eq!(sum, 3 + 7);
    while sum < 60 {
        let Sender { engine, socket, .. } = &mut sender;
        engine.system_sent(socket, address(1), 0, Ok(())).unwrap();
        engine.catch_up(socket).unwrap();
        let more = sender.gone().len();
        assert!(more > 0, "one has left: another finds room");
        sum += more;
    }
    assert_eq!(sum, 60);
}

/// With the end of the peer they are no more.
#[test]
fn nothing_is_pushed_to_a_new_peer_that_was_for_the_old() {
    let mut sender = sender(&[8, 8]);
    let gone = bcl_types::Cause::Closed;
    sender
        .engine
        .peer_gone(&mut sender.socket, address(1), gone)
        .unwrap();
    assert_eq!(sender.engine.depths().held, 0);
    sender.hear(5, 0, &[], 2 * charge(8));
    assert!(sender.gone().is_empty());
}

/// A receiver to which peer 1 has announced 8 bytes under the name 5.
struct Receiver {
    engine: Engine,
    socket: Socket,
    network: Rc<RefCell<Network>>,
    memory: Box<[u8; 8]>,
}

const NAME: u64 = 5;

fn receiver() -> Receiver {
    let (mut engine, mut socket, network) = endpoint(0);
    engine.peer_up(&mut socket, address(1)).unwrap();
    let mut receiver = Receiver {
        engine,
        socket,
        network,
        memory: Box::default(),
    };
    assert_eq!(said(&receiver.network).len(), 1, "it has credit");
    assert_eq!(receiver.hear(2, 0x40, &[8, NAME], &[]), 0);
    receiver
}

fn wanted() -> Wanted {
    Wanted {
        space: 0,
        source: Source::Any,
        tag: 0,
        ignore: 0,
    }
}

impl Receiver {
    /// How many faults there are after it.
    fn hear(&mut self, kind: u8, flags: u8, words: &[u64], payload: &[u8]) -> usize {
        let bytes = message(kind, flags, words, payload);
        let heard = self.engine.arrived(&mut self.socket, address(1), 0, &bytes);
        heard.unwrap();
        self.engine.depths().faults
    }

    fn pushed(&mut self) {
        assert_eq!(self.hear(4, 0x20, &[NAME], &[7; 8]), 0);
    }

    fn receive(&mut self, len: usize) {
        let receive = Receive {
            wanted: wanted(),
            memory: Memory::one(self.memory.as_mut_ptr(), len),
            context: 0,
            mark: 0,
            multi_min_free_bytes: None,
        };
        // SAFETY: the memory goes after the engine does.
        unsafe { self.engine.receive(&mut self.socket, receive) }.unwrap();
    }

    fn claim(&mut self) -> Id {
        self.engine.claim(&wanted()).unwrap().expect("it waits").1
    }

    /// It has got the message, nothing is left of it, and its credit is back.
    fn has_it(&mut self) {
        let completion = self.engine.next_completion().expect("it has ended");
        let Completion {
            result, len_bytes, ..
        } = completion;
        assert_eq!((result, len_bytes, *self.memory), (Ok(()), 8, [7; 8]));
        self.has_nothing();
    }

    fn has_nothing(&mut self) {
        assert_eq!(self.engine.next_completion(), None);
        let depths = self.engine.depths();
        assert_eq!(depths.charged_bytes, 0);
        let left = (
            depths.unexpected,
            depths.claimed,
            depths.incoming,
            depths.announced,
        );
        assert_eq!(left, (0, 0, 0, 0));
    }
}

#[test]
fn a_pushed_message_waits_for_its_receive() {
    let mut receiver = receiver();
    let other = Wanted { tag: 1, ..wanted() };
    assert!(receiver.engine.would_ask(&wanted()).unwrap());
    assert!(!receiver.engine.would_ask(&other).unwrap());
    receiver.pushed();
    assert!(!receiver.engine.would_ask(&wanted()).unwrap());
    assert_eq!(receiver.engine.depths().charged_bytes, charge(8) as usize);
    receiver.receive(8);
    receiver.has_it();
    assert!(said(&receiver.network).is_empty(), "nobody was asked");
}

#[test]
fn a_pushed_message_that_was_claimed_waits_for_its_claim() {
    for (claims_first, discards) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut receiver = receiver();
        if !claims_first {
            receiver.pushed();
        }
        let claim = receiver.claim();
        if claims_first {
            receiver.pushed();
        }
        let Receiver {
            engine,
            socket,
            memory,
            ..
        } = &mut receiver;
        if discards {
            engine.discard_claimed(socket, claim).unwrap();
            receiver.has_nothing();
        } else {
            let memory = Memory::one(memory.as_mut_ptr(), 8);
            // SAFETY: the memory goes after the engine does.
            unsafe { engine.receive_claimed(socket, claim, memory, (0, 0)) }.unwrap();
            receiver.has_it();
        }
        assert!(said(&receiver.network).is_empty(), "nobody was asked");
    }
}

#[test]
fn a_pushed_message_that_was_asked_for_is_received() {
    let mut receiver = receiver();
    receiver.receive(8);
    assert_eq!(said(&receiver.network).len(), 1);
    receiver.pushed();
    receiver.has_it();
    assert_eq!(receiver.hear(4, 0, &[NAME], &[7; 8]), 1, "it comes once");
}

/// ADI-5.3: of those that were asked for, it makes way for another.
#[test]
fn a_pushed_message_was_asked_for_and_is_no_more() {
    let mut receiver = receiver();
    receiver.pushed();
    for name in 100..200 {
        assert_eq!(receiver.hear(2, 0x40, &[8, name], &[]), 0);
        receiver.receive(8);
        // The first receives what waits.
        assert_eq!(said(&receiver.network).len(), usize::from(name > 100));
        if name > 100 {
            assert_eq!(receiver.hear(4, 0x20, &[name - 1], &[7; 8]), 0);
        }
    }
}

#[test]
fn a_pushed_message_is_asked_for_no_more() {
    let mut receiver = receiver();
    receiver.network.borrow_mut().refusals[0] = 1;
    receiver.receive(8);
    receiver.pushed();
    receiver.has_it();
    receiver.engine.catch_up(&mut receiver.socket).unwrap();
    assert!(said(&receiver.network).is_empty());
    assert_eq!(receiver.engine.depths().backlogs, 0);
}

#[test]
fn a_pushed_message_that_is_not_wanted_is_no_more() {
    let mut discarding = receiver();
    let claim = discarding.claim();
    discarding
        .engine
        .discard_claimed(&mut discarding.socket, claim)
        .unwrap();
    discarding.pushed();
    discarding.has_nothing();
    let mut short = receiver();
    short.receive(7);
    assert!(
        short
            .engine
            .next_completion()
            .is_some_and(|ended| ended.result.is_err())
    );
    short.pushed();
    short.has_nothing();
}

/// ADI-6.1: what was pushed is here, though its sender is gone.
#[test]
fn a_pushed_message_outlives_its_sender() {
    let mut receiver = receiver();
    receiver.pushed();
    let Receiver { engine, socket, .. } = &mut receiver;
    engine
        .peer_gone(socket, address(1), bcl_types::Cause::Closed)
        .unwrap();
    receiver.receive(8);
    receiver.has_it();
    assert_eq!(receiver.engine.depths().granted_bytes, 0);
}

#[test]
fn who_pushes_what_he_may_not_cheats() {
    let mut wrong = 0;
    for (flags, name, payload, faults) in [
        (0x20, NAME, &[7; 8][..], 0),
        (0x20, NAME + 1, &[7; 8], 0),
        (0x20, NAME, &[7; 7], 1),
        (0x20, NAME, &[7; 9], 1),
        // Nobody has asked.
        (0, NAME, &[7; 8], 1),
        (0, NAME + 1, &[7; 8], 1),
    ] {
        let mut receiver = receiver();
        assert_eq!(
            receiver.hear(4, flags, &[name], payload),
            faults,
            "{flags} {name}"
        );
        let depths = receiver.engine.depths();
        assert!(faults == 0 || depths.granted_bytes + depths.announced == 0);
        wrong += faults;
    }
    assert_eq!(wrong, 4);
    // More than it has credit for.
    let mut receiver = receiver();
    let window = receiver.engine.depths().granted_bytes;
    let most = window / charge(8000) as usize;
    for count in 0..=most {
        let name = 100 + count as u64;
        assert_eq!(receiver.hear(2, 0x40, &[8000, name], &[]), 0);
        let faults = receiver.hear(4, 0x20, &[name], &[7; 8000]);
        assert_eq!(faults, usize::from(count == most), "{count} of {most}");
    }
}

#[test]
fn who_gives_two_messages_one_name_cheats() {
    let mut receiver = receiver();
    receiver.claim();
    assert_eq!(receiver.hear(2, 0x40, &[8, NAME], &[]), 1);
}

/// A receiver that takes one message after the other asks for few of those that were kept.
#[test]
fn messages_that_were_kept_come_without_being_asked_for() {
    let mut world = World::new();
    let send = Step::send(0, 1, 1, 8);
    // The connection is up.
    world.step(send.clone());
    world.step(Step::receive(1, None, 1, 8));
    world.settle();
    const COUNT: usize = 20_000;
    for _ in 0..COUNT {
        world.step(send.clone());
        world.step(Step::Deliver { from: 0, to: 1 });
    }
    let asked_before = world.asking();
    for count in 0..COUNT {
        world.step(Step::receive(1, None, 1, 8));
        while world.received(1) < 1 + count + 1 {
            world.step(Step::Deliver { from: 1, to: 0 });
            world.step(Step::CatchUp { at: 0 });
            world.step(Step::Deliver { from: 0, to: 1 });
        }
        // Meanwhile something comes.
        world.step(Step::Deliver { from: 1, to: 0 });
        world.step(Step::Deliver { from: 0, to: 1 });
        world.step(Step::Deliver { from: 0, to: 1 });
    }
    let asked = world.asking() - asked_before;
    assert!(asked < COUNT / 1000, "{asked} were asked for");
    world.settle();
}
