//! The books against plain lists, in worlds of three endpoints whose network does whatever a port may do, in whatever order.

mod alone;
mod cheats;
#[path = "../../../testing/lists.rs"]
mod lists;
mod network;
mod one_sided;
mod patience;
mod pushed;
mod world;

use std::rc::Rc;

use bcl_types::{Cause, OpError};
use proptest::prelude::*;

use alone::{endpoint, message_of};
use network::Socket;
use world::{Step, Then, World};

use super::{Ended, Engine, Send, When};
use crate::error::Error;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let end = || 0usize..3;
    let then = || prop_oneof![Just(Then::Receive), Just(Then::Discard)];
    let len = prop_oneof![
        3 => Just(0usize), 3 => 1usize..200, 2 => 4000usize..8177, 3 => 8177usize..8180, 2 => 8193usize..20_000
    ];
    let step = prop_oneof![
        10 => (end(), end(), 0u64..4, len.clone(), 0u8..4, any::<bool>())
            .prop_map(|(from, to, tag, len, how, data)| Step::Send { from, to, tag, len, how, data }),
        10 => (end(), prop::option::of(end()), 0u64..4, prop_oneof![3 => Just(0u64), 1 => Just(1), 1 => Just(!0)], len, 0u8..3)
            .prop_map(|(at, from, tag, ignore, len, multi)| Step::Receive { at, from, tag, ignore, len, multi }),
        2 => (end(), any::<prop::sample::Index>()).prop_map(|(at, which)| Step::Cancel { at, which }),
        3 => (end(), prop::option::of(end()), 0u64..4, prop::option::of(then()))
            .prop_map(|(at, from, tag, then)| Step::Claim { at, from, tag, then }),
        1 => (end(), any::<prop::sample::Index>(), then())
            .prop_map(|(at, which, then)| Step::Settle { at, which, then }),
        20 => (end(), end()).prop_map(|(from, to)| Step::Deliver { from, to }),
        8 => any::<prop::sample::Index>().prop_map(|which| Step::Copy { which }),
        4 => end().prop_map(|at| Step::CatchUp { at }),
        1 => end().prop_map(|at| Step::AskAfter { at }),
        2 => (end(), 0usize..6).prop_map(|(at, calls)| Step::Refuse { at, calls }),
        1 => (end(), end()).prop_map(|(a, b)| Step::Break { a, b }),
    ];
    prop::collection::vec(step, 0..250)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// ADI-1.4, 3.2, 4.1, 6.1: each operation ends once; who meets whom is what lists give; what is received is what was
    /// sent; no peer is taken for one that cheats.
    #[test]
    fn endpoints_do_what_lists_do(steps in steps()) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
        }
        world.settle();
    }
}

/// ADI-4.1, 4.3: a receiver that does not listen keeps what it has granted, and no more; the rest waits with its sender, and
/// all of it arrives in its order once it is wanted.
#[test]
fn what_was_not_granted_waits_with_its_sender() {
    let mut world = World::new();
    world.settle();
    for _ in 0..20_000 {
        world.step(Step::Send {
            from: 0,
            to: 1,
            tag: 1,
            len: 8,
            how: 0,
            data: false,
        });
        world.step(Step::Deliver { from: 0, to: 1 });
    }
    let kept = world.kept_bytes(1);
    assert!(kept <= 256 << 10, "{kept} bytes at the receiver");
    for _ in 0..20_000 {
        world.step(Step::receive(1, Some(0), 1, 8));
    }
    world.settle();
    assert_eq!(world.received(1), 20_000);
}

/// ADI-5.1: bodies that nobody wants yet keep none back that is wanted, and leave the port room for it.
#[test]
fn a_body_that_was_asked_for_waits_for_none_that_was_not() {
    let mut world = World::new();
    world.settle();
    let mut send = |to, tag, times| {
        for _ in 0..times {
            world.step(Step::send(0, to, tag, 10_000));
            world.step(Step::Deliver { from: 0, to });
        }
        world.bodies()
    };
    assert_eq!(send(1, 1, 100), 32);
    assert_eq!(send(2, 1, 100), network::UNASKED_MAX);
    send(1, 2, 1);
    world.step(Step::receive(1, None, 2, 10_000));
    world.settle();
    assert_eq!(world.received(1), 1);
}

/// ADI-2.2: a program that has not looked yet cannot take a body for one that an endpoint with the same address had before.
#[test]
fn an_endpoint_has_other_names_than_the_one_before() {
    let name = |first_name| {
        let (mut engine, mut socket, network) = endpoint(first_name);
        let mut bytes = [0; 10_000];
        let send = message_of(&mut bytes);
        // SAFETY: nobody looks at it any more when this returns.
        unsafe { engine.send(&mut socket, send) }.unwrap();
        let network = network.borrow();
        network.bodies[0].name
    };
    assert_eq!(name(7), name(7));
    assert_ne!(name(7), name(8));
}

/// ADI-6.3: that what was sent to a peer is lost is told at once, and by the next send, once for each time that some is; what has left is
/// not known to be.
#[test]
fn messages_that_were_lost_after_their_end_are_told_of() {
    for (when, next) in [
        (When::Injected, When::Injected),
        (When::Injected, When::Delivered),
        (When::Reusable, When::Injected),
    ] {
        let (mut engine, mut socket, network) = endpoint(0);
        let mut bytes = [7; 8];
        let mut send = |engine: &mut Engine, when| {
            let send = Send {
                when,
                ..message_of(&mut bytes)
            };
            // SAFETY: the message is kept.
            let sent = unsafe { engine.send(&mut socket, send) };
            let ends = std::iter::from_fn(|| engine.next_completion()).map(|ended| ended.result);
            (sent, ends.collect::<Vec<_>>())
        };
        let lose = |engine: &mut Engine| {
            let mut socket = Socket {
                at: 0,
                network: Rc::clone(&network),
            };
            engine
                .peer_gone(&mut socket, network::address(1), Cause::Vanished)
                .unwrap();
            let ends = std::iter::from_fn(|| engine.next_completion());
            ends.map(|ended| (ended.kind, ended.peer, ended.result))
                .collect::<Vec<_>>()
        };
        assert_eq!(lose(&mut engine), []);
        for _ in 0..2 {
            for _ in 0..3 {
                assert!(matches!(send(&mut engine, when), (Ok(()), ends) if ends == [Ok(())]));
            }
            let lost = OpError::PeerGone(Cause::Vanished);
            let told = (Ended::Lost, network::address(1), Err(lost));
            assert_eq!(lose(&mut engine), [told]);
            match send(&mut engine, next) {
                (Err(Error::Lost { error, .. }), ends) => assert_eq!((error, ends), (lost, vec![])),
                told => panic!("{told:?}"),
            }
        }
    }
}

/// ADI-4.4: a peer that comes and goes leaves no more than all may have waiting together.
#[test]
fn what_peers_that_are_gone_have_left_is_not_granted_to_others() {
    let mut world = World::new();
    let send = Step::send(0, 1, 1, 8000);
    for _ in 0..3 {
        // The first finds no credit, and comes when there is some.
        world.step(send.clone());
        world.settle();
        for _ in 0..10 {
            world.step(send.clone());
            world.step(Step::Deliver { from: 0, to: 1 });
        }
        world.settle();
        world.step(Step::Break { a: 0, b: 1 });
        world.settle();
    }
    let (kept, granted) = (world.kept_bytes(1), world.granted_bytes(1));
    assert!(kept > 100_000 && granted >= kept, "{kept} of {granted}");
    for _ in 0..kept / 8000 {
        world.step(Step::receive(1, None, 1, 8000));
    }
    assert_eq!((world.kept_bytes(1), world.granted_bytes(1)), (0, 0));
}

/// ADI-1.4, 5.3: a send for which the port had no room costs no credit, and a peer is asked for 64 messages at a time.
#[test]
fn what_was_refused_costs_nothing_and_few_are_asked_for() {
    let mut world = World::new();
    // Before the connection is up there is no credit: these are announced.
    for _ in 0..70 {
        world.step(Step::send(0, 1, 1, 8));
        world.step(Step::Deliver { from: 0, to: 1 });
        world.step(Step::receive(1, None, 1, 8));
    }
    assert_eq!(world.asked(1, 0), 64);
    world.settle();
    for _ in 0..100 {
        world.step(Step::Refuse { at: 0, calls: 1 });
        world.step(Step::send(0, 1, 1, 8000));
    }
    world.step(Step::Refuse { at: 0, calls: 0 });
    world.step(Step::send(0, 1, 1, 8000));
    world.settle();
    assert_eq!(world.kept_bytes(1), 8000);
}

/// ADI-6.4: who closes waits for every message whose send is complete, be it empty.
#[test]
fn what_is_kept_is_owed_however_short_it_is() {
    for len in [0, 1] {
        let mut world = World::new();
        world.step(Step::send(0, 1, 1, len));
        assert!(world.owes_messages(0), "{len} bytes");
        world.step(Step::receive(1, None, 1, len));
        world.settle();
        assert!(!world.owes_messages(0), "{len} bytes");
    }
}
