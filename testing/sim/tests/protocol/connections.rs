//! How connections begin and end.

use bcl_proto::{Endpoint, NormalSend, Path, Span, Time};
use bcl_sim::SimPort;
use bcl_sim::net::Datagram;
use bcl_sim::port::{Heard, Memory, PORT, address, first_address, immediate_of};
use bcl_types::{Cause, OpError, OpId};
use bcl_wire::Kind;

use crate::world::{World, faults, path};

fn count(world: &World, host: usize, wanted: impl Fn(&Heard) -> bool) -> usize {
    world.hosts[host].memory.count(wanted)
}

const IS_UP: fn(&Heard) -> bool = |heard| matches!(heard, Heard::Up(_));
const IS_GONE: fn(&Heard) -> bool = |heard| matches!(heard, Heard::Gone(..));
const IS_WITHDRAWN: fn(&Heard) -> bool = |heard| matches!(heard, Heard::Withdrawn(_));
const IS_SYSTEM: fn(&Heard) -> bool = |heard| matches!(heard, Heard::System { .. });

#[test]
fn both_at_once_make_one_connection() {
    for seed in 0..400 {
        let mut world = World::new(2, seed);
        world.set_faults(faults([0, 0, 100, 300][seed as usize % 4]));
        world.send_system((seed % 2) as usize, (1 - seed % 2) as usize, b"a");
        world.run(Span::from_us(seed % 35));
        world.send_system((1 - seed % 2) as usize, (seed % 2) as usize, b"b");
        world.run(Span::from_ms(8_000));
        for host in [0, 1] {
            let one = [IS_UP, IS_SYSTEM].map(|wanted| count(&world, host, wanted));
            assert_eq!(
                one,
                [1, 1],
                "seed {seed}: {:?}",
                world.hosts[host].memory.heard
            );
            assert_eq!(
                count(&world, host, IS_GONE),
                0,
                "seed {seed} {:?}",
                world.hosts[host].memory.heard
            );
            assert_eq!(world.hosts[host].endpoint.depths().peers, 1);
        }
    }
}

/// One that had come to the agreement of both as the other's once had no timers for ever.
#[test]
fn a_connection_made_by_both_has_timers_though_nobody_asked_for_them_meanwhile() {
    let mut hosts = World::new(2, 1).hosts;
    let now = Time(1_000_000_000);
    let send = |hosts: &mut [SimPort], from: usize| {
        let SimPort {
            endpoint, memory, ..
        } = &mut hosts[from];
        endpoint.send_system(now, address(1 - from), b"a", 0, memory, Memory::new_op);
    };
    send(&mut hosts, 0);
    send(&mut hosts, 1);
    let take = |port: &mut SimPort| -> Vec<Vec<u8>> {
        let datagrams = std::iter::from_fn(|| port.next_datagram(now.0));
        datagrams.map(|(_, bytes)| bytes).collect()
    };
    loop {
        let crossing = [0, 1].map(|host| take(&mut hosts[host]));
        if crossing.iter().all(Vec::is_empty) {
            break;
        }
        for (from, datagrams) in crossing.iter().enumerate() {
            for datagram in datagrams {
                hosts[1 - from].receive(now.0, first_address(from), datagram);
            }
        }
    }
    for host in [0, 1] {
        let heard = [IS_UP, IS_SYSTEM].map(|wanted| hosts[host].memory.count(wanted));
        assert_eq!(heard, [1, 1]);
        send(&mut hosts, host);
        assert_eq!(take(&mut hosts[host]).len(), 1, "it is lost");
        let due = hosts[host].endpoint.next_timeout();
        assert!(due.is_some_and(|due| due < now + Span::from_ms(300)));
    }
}

#[test]
fn a_port_talks_to_itself() {
    for seed in 0..400 {
        let mut world = World::new(1, seed);
        world.set_faults(faults([0, 100, 300][seed as usize % 3]));
        for k in 0..20u8 {
            world.send_system(0, 0, &[k; 3_000]);
        }
        // Two ends, and no third one where several WELCOMEs were confirmed.
        for _ in 0..800 {
            world.run(Span::from_ms(10));
            assert!(world.hosts[0].endpoint.depths().peers <= 2, "seed {seed}");
        }
        assert_eq!(count(&world, 0, IS_UP), 1);
        let texts = world.take_system(0);
        assert_eq!(texts.len(), 20);
        assert!(texts.iter().zip(0u8..).all(|(text, k)| *text == [k; 3_000]));
        world.close(0);
        world.run(Span::from_ms(8_000));
        assert!(world.hosts[0].endpoint.is_drained(), "seed {seed}");
    }
}

#[test]
fn a_peer_that_restarts_is_a_new_peer() {
    for by_itself in [true, false] {
        let mut world = World::new(2, 4);
        world.send_system(0, 1, b"old");
        world.run(Span::from_ms(10));
        world.hosts[0].memory.take();
        world.restart(1, 200);
        if by_itself {
            world.send_system(1, 0, b"new");
        } else {
            // The first thing that we say shows it.
            world.send_system(0, 1, b"lost");
        }
        world.run(Span::from_ms(20));
        let gone = Heard::Gone(address(1), Cause::Restarted);
        assert!(world.hosts[0].memory.heard.contains(&gone), "{by_itself}");
        world.hosts[1].memory.take();
        world.send_system(0, 1, b"again");
        world.run(Span::from_ms(20));
        assert_eq!(world.take_system(1), [b"again"]);
    }
}

#[test]
fn a_silent_peer_is_gone_with_all_that_was_pending_and_may_come_back() {
    let mut world = World::new(2, 5);
    world.send_system(0, 1, b"hello");
    let op = world.hosts[0].memory.post(1, 100_000);
    for channel in [2, 1] {
        world.send_normal(1, 0, channel, vec![1; 100_000]);
    }
    world.run_until(Span::from_ms(10), |world| {
        world.hosts[0].endpoint.traffic().bytes_in > 20_000
    });
    world.cut(1);
    world.send_normal(0, 1, 1, vec![1; 10]);
    let start = world.now;
    world.run_until(Span::from_ms(10_000), |world| count(world, 0, IS_GONE) > 0);
    assert!(world.now.since(start) < Span::from_ms(3_300));
    let news = world.hosts[0].memory.take();
    let silent = |cause: &Cause| matches!(cause, Cause::Silent(_));
    assert!(matches!(news.last(), Some(Heard::Gone(_, cause)) if silent(cause)));
    let failed = |result: &Result<(), OpError>| matches!(result, Err(OpError::PeerGone(cause)) if silent(cause));
    assert!(news.iter().any(
        |heard| matches!(heard, Heard::Received { op: it, result, .. } if *it == op && failed(result))
    ));
    assert!(
        news.iter()
            .any(|heard| matches!(heard, Heard::Sent(_, 10, result) if failed(result)))
    );
    assert_eq!(news.iter().filter(|heard| IS_WITHDRAWN(heard)).count(), 1);
    let depths = world.hosts[0].endpoint.depths();
    assert_eq!(
        (depths.peers, depths.pool_bytes, depths.unexpected),
        (0, 0, 0)
    );

    world.mend(1);
    world.run(Span::from_ms(5_000));
    world.hosts[1].memory.take();
    world.send_system(0, 1, b"back");
    world.run(Span::from_ms(500));
    assert_eq!(world.take_system(1), [b"back"]);
}

#[test]
fn an_idle_peer_that_vanishes_is_noticed() {
    let mut world = World::new(2, 5);
    world.send_system(0, 1, b"hello");
    world.run(Span::from_ms(60_000));
    assert_eq!(count(&world, 0, IS_GONE), 0);
    world.cut(1);
    world.run(Span::from_ms(14_000));
    assert_eq!(count(&world, 0, IS_GONE), 1);
}

#[test]
fn a_pause_shorter_than_the_limit_costs_nothing() {
    let mut world = World::new(2, 6);
    world.send_system(0, 1, b"one");
    world.run(Span::from_ms(10));
    world.cut(1);
    for k in 0..100u8 {
        world.send_system(0, 1, &[k]);
    }
    world.run(Span::from_ms(2_000));
    world.mend(1);
    world.run(Span::from_ms(1_000));
    assert_eq!(world.take_system(1).len(), 101);
    assert_eq!(count(&world, 0, IS_GONE), 0);
}

/// The second host has had the message for which it had posted a buffer, and then seen the first one leave, with the other.
fn has_left(world: &World, post: OpId, seed: u64) {
    let memory = &world.hosts[1].memory;
    assert_eq!(memory.back[&post], [9; 10], "seed {seed}");
    let gone = Heard::Gone(address(0), Cause::Closed);
    assert_eq!(memory.heard.back(), Some(&gone));
    assert_eq!(count(world, 1, IS_WITHDRAWN), 1);
    assert_eq!(world.hosts[1].endpoint.depths().peers, 0);
}

#[test]
fn what_was_sent_before_close_arrives_before_it() {
    for seed in 0..100 {
        let mut world = World::new(2, seed);
        world.set_faults(faults([0, 100, 200][seed as usize % 3]));
        world.send_system(0, 1, b"first");
        world.run(Span::from_ms(2_000));
        let post = world.hosts[1].memory.post(1, 10);
        for k in 0..50u8 {
            world.send_system(0, 1, &[k; 1_000]);
        }
        world.act(0, |endpoint, now, memory| {
            for channel in [1, 2] {
                let source = memory.lend(vec![9; 10]);
                let send = NormalSend {
                    op: source,
                    channel,
                    len_bytes: 10,
                    immediate: immediate_of(&[9; 10]),
                };
                endpoint.send_normal(now, address(1), send, memory);
            }
            endpoint.close(now, memory);
        });
        world.run_until(Span::from_ms(20_000), |world| {
            world.hosts[0].endpoint.is_drained()
        });
        world.run(Span::from_ms(100));
        assert_eq!(count(&world, 1, IS_SYSTEM), 51, "seed {seed}");
        has_left(&world, post, seed);
    }
}

/// [WIRE-12.4]: what was held back is news when it comes, but not of where the peer is.
#[test]
fn what_is_played_back_from_elsewhere_moves_nobody() {
    let mut world = World::new(3, 10);
    world.send_system(1, 0, b"hello");
    world.run(Span::from_ms(20));
    world.take_system(0);
    world.record();
    world.cut(0);
    world.send_system(1, 0, b"held back");
    world.mend(0);
    let held_back = world.recorded().remove(0);
    world.inject(2, 0, held_back.bytes);
    world.run(Span::from_us(5));
    assert_eq!(world.take_system(0), [b"held back"]);
    world.send_system(0, 1, b"still there");
    world.run(Span::from_us(50));
    assert_eq!(world.take_system(1), [b"still there"]);
}

/// Two set-ups cross, and somebody who has kept back what belongs to one plays it back when all is over ([WIRE-4.8]).
#[test]
fn a_set_up_that_another_has_crossed_is_over_with_it() {
    let mut world = World::new(2, 9);
    world.record();
    world.send_system(1, 0, b"once");
    world.run(Span::from_us(15));
    world.cut(0);
    world.run(Span::from_us(10));
    world.mend(0);
    let kept_back = world.recorded();
    assert!(kept_back.len() >= 4, "CONFIRM and DATA have left");
    world.send_system(0, 1, b"other");
    world.run(Span::from_ms(20));
    assert_eq!(world.take_system(0), [b"once"]);
    world.close(1);
    world.run(Span::from_ms(20));
    assert_eq!(count(&world, 0, IS_GONE), 1);
    for datagram in kept_back {
        world.net.inject(world.now.0, datagram);
        world.run(Span::from_ms(1));
    }
    assert_eq!(count(&world, 0, IS_SYSTEM), 0);
    assert_eq!(world.hosts[0].endpoint.depths().peers, 0);
}

/// Of what was sent, the packets of one kind from one host to another.
fn sent(world: &mut World, from: usize, to: usize, kind: Kind) -> Vec<Vec<u8>> {
    let ends = [from, to].map(|host| path(host).to);
    let is_it = |sent: &Datagram| [sent.from, sent.to] == ends && sent.bytes[3] == kind as u8;
    let sent = world.recorded().into_iter().filter(is_it);
    let sent = sent.map(|sent| sent.bytes).collect();
    world.record();
    sent
}

/// Somebody plays a HELLO back under his own address, and the WELCOME, whose token is for that, to who had said HELLO
/// ([WIRE-4.5]).
#[test]
fn a_welcome_for_another_address_keeps_nobody_waiting() {
    let mut world = World::new(3, 12);
    world.record();
    world.cut(1);
    world.send_system(0, 1, b"hello");
    world.mend(1);
    let hello = sent(&mut world, 0, 1, Kind::Hello).remove(0);
    world.inject(2, 1, hello);
    world.run(Span::from_us(5));
    let welcome = sent(&mut world, 1, 2, Kind::Welcome).remove(0);
    world.inject(1, 0, welcome);
    // The other side wants something as well, and has to let ours go first.
    world.send_system(1, 0, b"and you");
    world.run(Span::from_us(100));
    assert_eq!(count(&world, 1, IS_UP), 0, "that token is worth nothing");
    world.run(Span::from_ms(200));
    for (host, text) in [(0, &b"and you"[..]), (1, b"hello")] {
        assert_eq!([IS_UP, IS_GONE].map(|it| count(&world, host, it)), [1, 0]);
        assert_eq!(world.take_system(host), [text]);
    }
}

/// Of several WELCOMEs one counts, also when its connection is over ([WIRE-4.8]).
#[test]
fn a_second_welcome_makes_no_second_connection() {
    let mut world = World::with(2, 13, |host, config| {
        config.dead_after = Span::from_ms([20_000, 500][host]);
    });
    world.record();
    world.send_system(0, 1, b"once");
    world.run(Span::from_us(15));
    // The first one's CONFIRM arrives, and nothing after it.
    world.run_until(Span::from_ms(1), |world| count(world, 1, IS_UP) == 1);
    world.cut(0);
    world.send_system(1, 0, b"is anybody there?");
    world.run(Span::from_ms(2_000));
    assert_eq!(count(&world, 1, IS_GONE), 1);

    let hello = sent(&mut world, 0, 1, Kind::Hello).remove(1);
    world.inject(0, 1, hello);
    world.run(Span::from_us(5));
    let welcome = sent(&mut world, 1, 0, Kind::Welcome).remove(0);
    world.mend(0);
    world.inject(1, 0, welcome);
    world.run(Span::from_us(5));
    world.cut(0);
    world.run(Span::from_ms(100));
    let confirms = sent(&mut world, 0, 1, Kind::Confirm);
    assert!(confirms.len() >= 2, "both are confirmed");
    world.run(Span::from_ms(4_800));
    for confirm in confirms {
        world.inject(0, 1, confirm);
        world.run(Span::from_us(5));
    }
    assert_eq!(count(&world, 1, IS_UP), 1);
    assert_eq!(world.hosts[1].endpoint.depths().peers, 0);
}

/// [SEM-7.4]: whoever computes while a peer leaves has the peer's messages first. The peer need not wait for that, and is not
/// looked for.
#[test]
fn a_peer_that_takes_leave_is_gone_once_the_program_has_heard_what_came_before() {
    for seed in 0..60 {
        // By the socket, and by the ring of an interface program.
        let mut world = match seed % 2 {
            0 => World::new(2, seed),
            _ => World::with_front(seed),
        };
        world.send_system(0, 1, b"first");
        world.run(Span::from_ms(20));
        world.set_faults(faults([0, 50, 200][seed as usize % 3]));
        let post = world.hosts[1].memory.post(1, 10);
        world.hosts[1].memory.looks_later = true;
        for channel in [1, 2] {
            world.send_normal(0, 1, channel, vec![9; 10]);
        }
        world.run(Span::from_ms(500));
        world.close(0);
        world.run_until(Span::from_ms(1_000), |world| {
            world.hosts[0].endpoint.is_drained()
        });
        world.run(Span::from_ms(100));
        let sent = world.hosts[1].endpoint.traffic().packets_out;
        world.run(Span::from_ms(60_000));
        assert_eq!(count(&world, 1, IS_GONE), 0, "seed {seed}");
        assert_eq!(world.hosts[1].endpoint.traffic().packets_out, sent);

        world.look(1);
        has_left(&world, post, seed);
    }
}

/// Or once it takes leave itself, or the peer is back.
#[test]
fn a_peer_that_has_left_is_not_waited_for() {
    for returns in [false, true] {
        let mut world = World::new(2, 8);
        world.hosts[1].memory.looks_later = true;
        world.send_normal(0, 1, 1, vec![9; 10]);
        world.run(Span::from_ms(20));
        world.close(0);
        world.run(Span::from_ms(20));
        assert_eq!(count(&world, 1, IS_GONE), 0);
        if returns {
            world.restart(0, 200);
            world.send_system(0, 1, b"back");
            world.run(Span::from_ms(20));
            let gone = Heard::Gone(address(0), Cause::Closed);
            assert!(world.hosts[1].memory.heard.contains(&gone));
            assert_eq!(world.take_system(1), [b"back"]);
        } else {
            world.close(1);
            assert!(world.hosts[1].endpoint.is_drained());
        }
    }
}

#[test]
fn who_cannot_be_reached() {
    // Nobody there.
    let mut world = World::new(2, 7);
    world.cut(1);
    world.send_system(0, 1, b"hello");
    world.run(Span::from_ms(4_000));
    let expected = Heard::Sent(1, 5, Err(OpError::Unreachable));
    assert_eq!(world.hosts[0].memory.take(), [expected]);
    // The network says so.
    world.send_system(0, 1, b"hello");
    world.act(0, |endpoint, now, memory| {
        endpoint.unreachable(now, path(1), None, memory)
    });
    let expected = Heard::Sent(2, 5, Err(OpError::NoPort));
    assert_eq!(world.hosts[0].memory.take(), [expected]);
    // The driver knows no way.
    world.hosts[0].memory.addresses.clear();
    world.send_system(0, 1, b"hello");
    let expected = Heard::Sent(3, 5, Err(OpError::Unreachable));
    assert_eq!(world.hosts[0].memory.take(), [expected]);
}

/// Two hosts, the second of which is not there any more, and the question that the network's word of that leads to.
fn world_of_a_suspect(seed: u64, is_there: bool) -> (World, Vec<u8>) {
    let mut world = World::new(2, seed);
    world.send_system(0, 1, b"hello");
    world.run(Span::from_ms(20));
    world.record();
    if !is_there {
        world.cut(1);
    }
    world.act(0, |endpoint, now, memory| {
        endpoint.unreachable(now, path(1), None, memory)
    });
    let probe = sent(&mut world, 0, 1, Kind::Probe).remove(0);
    (world, probe)
}

fn give_back(world: &mut World, packet: &[u8]) {
    world.act(0, |endpoint, now, memory| {
        endpoint.unreachable(now, path(1), Some(packet), memory)
    });
}

#[test]
fn whose_port_is_gone_is_given_up_when_the_question_comes_back() {
    let (mut world, probe) = world_of_a_suspect(9, false);
    world.run(Span::from_us(50));
    give_back(&mut world, &probe);
    world.run(Span::from_ms(4));
    assert_eq!(count(&world, 0, IS_GONE), 0);
    world.run(Span::from_ms(2));
    let gone = Heard::Gone(address(1), Cause::Vanished);
    assert!(world.hosts[0].memory.heard.contains(&gone));
}

#[test]
fn what_nobody_can_have_sent_back_says_nothing() {
    let (mut world, probe) = world_of_a_suspect(9, false);
    for byte in 0..probe.len() {
        let mut forged = probe.clone();
        forged[byte] ^= 1;
        give_back(&mut world, &forged);
    }
    give_back(&mut world, &probe[..40]);
    give_back(&mut world, &[]);
    world.run(Span::from_ms(200));
    assert_eq!(count(&world, 0, IS_GONE), 0);
    // The next question has another number.
    give_back(&mut world, &probe);
    world.run(Span::from_ms(20));
    assert_eq!(count(&world, 0, IS_GONE), 0);
    world.run(Span::from_ms(40));
    let is_silence = |heard: &Heard| matches!(heard, Heard::Gone(_, Cause::Silent(_)));
    assert_eq!(count(&world, 0, is_silence), 1);
}

#[test]
fn who_answers_is_there_whatever_comes_back() {
    let (mut world, probe) = world_of_a_suspect(9, true);
    give_back(&mut world, &probe);
    world.run(Span::from_ms(1));
    give_back(&mut world, &probe);
    world.run(Span::from_ms(400));
    assert_eq!(count(&world, 0, IS_GONE), 0);
}

#[test]
fn another_job_is_refused() {
    let mut world = World::new(2, 8);
    world.hosts[1].endpoint =
        Endpoint::new(bcl_proto::Config::new(address(1), 100, [1, 2]), &[8; 32]);
    world.send_system(0, 1, b"hello");
    world.run(Span::from_ms(100));
    let expected = Heard::Sent(1, 5, Err(OpError::KeyMismatch));
    assert_eq!(world.hosts[0].memory.take(), [expected]);
    assert!(world.hosts[1].memory.heard.is_empty());
    assert!(world.hosts[1].endpoint.drops().job > 0);
}

#[test]
fn another_version_is_refused() {
    let mut world = World::new(2, 8);
    world.record();
    world.send_system(0, 1, b"hello");
    let hello = sent(&mut world, 0, 1, Kind::Hello).remove(0);
    // What a peer of version 2 would say, from what ours says.
    let mut bytes = vec![0u8; 64];
    bytes[..4].copy_from_slice(&[0x42, 0x43, 2, 15]);
    bytes[8..12].copy_from_slice(&hello[12..16]);
    bytes[18..20].copy_from_slice(&PORT.to_le_bytes());
    world.cut(1);
    for _ in 0..2 {
        world.act(0, |endpoint, now, memory| {
            endpoint.handle(now, path(1), &bytes, memory)
        });
    }
    let error = OpError::VersionMismatch { ours: 1, theirs: 2 };
    assert_eq!(
        world.hosts[0].memory.take(),
        [Heard::Sent(1, 5, Err(error))]
    );
}

/// The next datagram of a host, and where it is to go.
fn next_datagram(world: &mut World, host: usize) -> Option<(Path, Vec<u8>)> {
    let (transmit, bytes) = world.hosts[host].next_datagram(world.now.0)?;
    Some((transmit.path, bytes))
}

/// What a host receives, and all that it has to say to it.
fn receive(world: &mut World, host: usize, from: Path, bytes: &[u8]) -> Vec<(Path, Vec<u8>)> {
    world.hosts[host].receive(world.now.0, from.to, bytes);
    std::iter::from_fn(|| next_datagram(world, host)).collect()
}

fn is_at(world: &World) -> Path {
    world.hosts[1].endpoint.peers().next().unwrap().path
}

#[test]
fn a_host_that_moves_is_found() {
    let mut world = World::new(2, 8);
    world.send_system(0, 1, b"hello");
    world.run(Span::from_ms(10));
    let to = "10.9.9.9:20005".parse().unwrap();
    let (here, there) = (path(0), Path { to, rail: 0 });
    let SimPort {
        endpoint, memory, ..
    } = &mut world.hosts[0];
    let immediate = immediate_of(b"moved");
    endpoint.send_system(
        world.now,
        address(1),
        b"moved",
        immediate,
        memory,
        Memory::new_op,
    );
    let (_, moved) = next_datagram(&mut world, 0).unwrap();
    // It is asked where it seems to be, and is not there before it answers from there.
    let said = receive(&mut world, 1, there, &moved);
    let asked: Vec<_> = said.iter().filter(|(to, _)| *to == there).collect();
    assert_eq!((asked.len(), is_at(&world)), (1, here));
    let answers = receive(&mut world, 0, path(1), &asked[0].1);
    receive(&mut world, 1, here, &answers[0].1);
    assert_eq!(is_at(&world), here);
    receive(&mut world, 1, there, &answers[0].1);
    assert_eq!(is_at(&world), there);
    // A copy from yet another place moves nothing.
    let said = receive(&mut world, 1, here, &moved);
    assert!(said.iter().all(|(to, _)| *to == there));
}

#[test]
fn copies_of_an_ended_connection_change_nothing() {
    let mut world = World::new(2, 9);
    world.record();
    for k in 0..20 {
        world.send_system(0, 1, &[k; 100]);
        world.send_system(1, 0, &[k; 100]);
    }
    world.run(Span::from_ms(10));
    world.close(0);
    world.run(Span::from_ms(10));
    assert_eq!(world.take_system(1).len(), 20);
    let record = world.recorded();
    for span in [Span::from_ms(1), Span::from_ms(20_000)] {
        for datagram in record.iter().filter(|sent| sent.to == path(1).to) {
            world.net.inject(world.now.0, datagram.clone());
        }
        world.run(span);
        assert!(world.hosts[1].memory.heard.is_empty());
        assert_eq!(world.hosts[1].endpoint.depths().peers, 0);
    }
}

#[test]
fn forged_and_copied_packets_change_nothing() {
    let mut world = World::new(2, 10);
    world.record();
    world.send_system(0, 1, b"hello");
    world.send_normal(0, 1, 1, vec![1; 50_000]);
    world.run(Span::from_ms(50));
    let record = world.recorded();
    let before = format!("{:?}", world.hosts[1].memory.heard);
    let info = |world: &World| {
        let mut info = world.hosts[1].endpoint.peers().next().unwrap();
        (info.traffic, info.drops) = Default::default();
        format!("{info:?} {:?}", world.hosts[1].endpoint.depths())
    };
    let state = info(&world);
    for round in 0..20_000u64 {
        let mut bytes = world.random.pick(&record).bytes.clone();
        if round % 4 != 0 {
            // Kinds, acknowledgements, sequences: whatever the forger likes, but for the check.
            for _ in 0..1 + world.random.below(3) {
                let at = 3 + world.random.index(bytes.len() - 3);
                bytes[at] = world.random.next_u64() as u8;
            }
        }
        let now_ns = world.now.0;
        world.hosts[1].receive(now_ns, path(0).to, &bytes);
        while world.hosts[1].next_datagram(now_ns).is_some() {}
    }
    assert_eq!(format!("{:?}", world.hosts[1].memory.heard), before);
    assert_eq!(info(&world), state);
    assert_eq!(world.now, Time(world.now.0));
}
