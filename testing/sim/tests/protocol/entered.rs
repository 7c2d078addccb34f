//! A port whose connections an interface program has ([MCP-1], [MCP-6]). The peer has none.

use bcl_layout::control::Grant;
use bcl_mcp_model::Window;
use bcl_proto::{Action, Span, WhyNot};
use bcl_types::Atomic;

use bcl_sim::net::{Faults, Rate};
use bcl_sim::port::{Heard, address};

use crate::world::World;

/// First bytes of the system messages that a host has been told of.
fn messages(world: &mut World, host: usize) -> Vec<u8> {
    let taken = world.take_system(host);
    taken.iter().map(|bytes| bytes[0]).collect()
}

/// Both know each other, and the interface program has the connection.
fn set_up(seed: u64) -> World {
    connected(World::with_front(seed))
}

fn connected(mut world: World) -> World {
    world.send_system(0, 1, &[0]);
    world.run(Span::from_ms(5));
    assert_eq!(messages(&mut world, 1), [0]);
    assert_eq!(world.front().entered.len(), 1);
    world.hosts[0].memory.take();
    world
}

#[test]
fn what_came_before_the_agent_had_answered_comes_again_soon() {
    let mut world = World::with_front(1);
    world.front().has_agent = false;
    for number in 0..5 {
        world.send_system(0, 1, &[number; 1000]);
    }
    world.run(Span::from_us(100));
    assert_eq!(world.hosts[1].endpoint.drops().bypass, 5);
    assert!(messages(&mut world, 1).is_empty());
    world.front().has_agent = true;
    world.flush(1);
    // There and back and there, and no timeout.
    world.run(Span::from_us(60));
    assert_eq!(messages(&mut world, 1), [0, 1, 2, 3, 4]);
}

#[test]
fn without_an_agent_it_goes_on_as_ever() {
    let mut world = World::with_front(1);
    world.front().has_agent = false;
    world.send_system(0, 1, &[7]);
    world.run(Span::from_us(100));
    world.act(1, |endpoint, now, memory| {
        let entering = endpoint.next_to_enter(now, memory).expect("a connection");
        assert_eq!((entering.peer, entering.expected), (address(0), 0));
        endpoint.not_entered(now, entering.id, memory);
    });
    world.run(Span::from_ms(1));
    assert_eq!(messages(&mut world, 1), [7]);
}

/// [WIRE-9.5]: the program does not know what the interface program refuses, and must not acknowledge it.
#[test]
fn a_system_message_that_is_refused_is_not_acknowledged_by_what_the_program_sends() {
    let mut world = set_up(2);
    world.hosts[1].memory.most_events = 0;
    world.flush(1);
    for number in 1..4 {
        world.send_system(0, 1, &[number; 100]);
    }
    // What comes after it and is for the program.
    world.send_normal(0, 1, 3, vec![9; 100_000]);
    for _ in 0..100 {
        world.send_system(1, 0, &[8]);
        world.run(Span::from_us(20));
    }
    assert!(world.front().port.counters.refused > 0);
    assert!(messages(&mut world, 1).is_empty());
    world.hosts[1].memory.most_events = usize::MAX;
    world.flush(1);
    world.run(Span::from_ms(50));
    assert_eq!(messages(&mut world, 1), [1, 2, 3]);
}

/// What the interface program has acknowledged is not sent again by itself ([MCP-6.4]).
#[test]
fn a_refusal_of_a_normal_message_is_told_until_it_is_heard() {
    let mut world = set_up(3);
    world.hosts[1].memory.most_events = 0;
    world.send_normal(0, 1, 3, vec![9; 100]);
    world.run(Span::from_us(15));
    world.cut(0);
    world.run(Span::from_ms(1));
    world.mend(0);
    world.hosts[1].memory.most_events = usize::MAX;
    world.post(1, 3, 100);
    world.run(Span::from_ms(50));
    let received = |news: &Heard| matches!(news, Heard::Received { result: Ok(()), .. });
    assert_eq!(world.hosts[1].memory.count(received), 1);
}

#[test]
fn a_message_comes_together_from_pieces_that_others_have_placed() {
    let mut world = set_up(4);
    let buffer = world.post(1, 3, 50_000);
    world.send_normal(0, 1, 3, (0..50_000).map(|at| at as u8).collect());
    world.run_until(Span::from_ms(1), |world| {
        world.hosts[1].memory.granted[0].is_some()
    });
    let granted = world.hosts[1].memory.granted[0].expect("a message");
    assert_eq!((granted.op, granted.len_bytes), (buffer, 50_000));
    world.front().port.control.grants[0] = Grant {
        connection: granted.connection,
        message: granted.message,
        window: 99,
        place: 8,
        len_bytes: granted.len_bytes,
    };
    let window = Window {
        memory: vec![0; 60_000],
        len_bytes: 60_000,
        access: 0,
    };
    world.front().port.enter_window(99, window);
    world.run(Span::from_ms(5));
    let received = |news: &Heard| matches!(news, Heard::Received { result: Ok(()), .. });
    assert_eq!(world.hosts[1].memory.count(received), 1);
    let back = &world.hosts[1].memory.back[&buffer];
    assert!(back.iter().all(|byte| *byte == 0));
    let memory = &world.front().port.window(99).expect("a window").memory;
    let is_there = |(at, byte): (usize, &u8)| *byte == at as u8;
    assert!(memory[8..50_008].iter().enumerate().all(is_there));
}

/// A window of the second host, which the interface program has as well.
fn enter_window(world: &mut World, number: u16, len: usize, access: u32) {
    world.hosts[1].memory.windows.insert(number, vec![0; len]);
    let window = Window {
        memory: Vec::new(),
        len_bytes: len as u64,
        access,
    };
    world.front().port.enter_window(number, window);
    world.front().port.control.offer(number, true);
}

fn rma(world: &mut World, window: u16, offset: u64, action: Action) {
    let memory = vec![5; action.len_bytes() as usize];
    world.rma(memory, window, offset, action);
}

#[test]
fn the_port_is_told_of_what_was_written_and_only_then() {
    let mut world = set_up(5);
    for (number, access) in [(1, 7), (2, 15)] {
        enter_window(&mut world, number, 10_000, access);
    }
    // The process is somewhere else.
    world.looks = false;
    for window in [1, 2] {
        rma(&mut world, window, 16, Action::Put { len_bytes: 5000 });
        let add = Action::Atomic(Atomic::FetchAdd(3));
        rma(&mut world, window, 8, add);
    }
    world.run(Span::from_ms(5));
    let done = |news: &Heard| matches!(news, Heard::Rma(_, _, Ok(())));
    assert_eq!(world.hosts[0].memory.count(done), 4, "nobody had to look");
    world.looks = true;
    world.flush(1);
    let told = world.hosts[1].memory.take();
    assert_eq!(told, [Heard::Written(2, 16, 5000), Heard::Written(2, 8, 8)]);
}

/// What is short is asked so that the interface program can answer; what is long only if the process does not.
#[test]
fn what_is_read_comes_without_the_process() {
    let mut world = set_up(6);
    enter_window(&mut world, 1, 60_000, 7);
    world.looks = false;
    let get = |len_bytes| Action::Get { len_bytes };
    let done = |world: &mut World| {
        let news = world.hosts[0].memory.take().into_iter();
        news.filter(|news| matches!(news, Heard::Rma(_, _, Ok(()))))
            .count()
    };
    rma(&mut world, 1, 16, get(1_000));
    world.run(Span::from_ms(1));
    assert_eq!(done(&mut world), 1);
    // The first time it is asked in vain, then no more.
    for longest_ms in [300, 5] {
        rma(&mut world, 1, 0, get(50_000));
        world.run(Span::from_ms(longest_ms));
        assert_eq!(done(&mut world), 1);
    }
    // A process that looks answers itself, and what it has not answered before as well, which tells that it does.
    world.looks = true;
    world.flush(1);
    world.run(Span::from_ms(1));
    let before = world.front().port.counters.read;
    rma(&mut world, 1, 0, get(50_000));
    world.run(Span::from_ms(5));
    assert_eq!(done(&mut world), 1);
    assert_eq!(world.front().port.counters.read, before);
}

#[test]
fn a_connection_that_is_taken_back_goes_on_where_the_interface_program_was() {
    for seed in 0..20 {
        let mut world = set_up(seed);
        world.set_faults(Faults {
            reorder: Rate::percent(5),
            reorder_by_ns: 100_000,
            ..Faults::loss(Rate::percent(5))
        });
        enter_window(&mut world, 1, 64, 7);
        for number in 1..60 {
            world.send_system(0, 1, &[number; 500]);
            rma(&mut world, 1, 8, Action::Atomic(Atomic::FetchAdd(1)));
        }
        world.run(Span::from_us(100 + 40 * seed));
        let id = world.front().entered[0];
        world.act(1, |endpoint, _, _| endpoint.give_back(id));
        world.run(Span::from_ms(2_000));
        let told = messages(&mut world, 1);
        assert_eq!(told, (1..60).collect::<Vec<u8>>(), "{seed}");
        let done = |news: &Heard| matches!(news, Heard::Rma(_, _, Ok(())));
        assert_eq!(world.hosts[0].memory.count(done), 59, "{seed}");
        // Each was performed once, here or there.
        assert_eq!(world.hosts[1].memory.windows[&1][8], 59, "{seed}");
    }
}

#[test]
fn what_goes_on_to_come_past_the_interface_program_is_taken_back() {
    let mut world = set_up(6);
    let id = world.front().entered[0];
    // As if the interface program had been taken off the link.
    let state = world.front().port.remove_connection(id);
    for number in 1..4 {
        world.send_system(0, 1, &[number]);
        world.run(Span::from_ms(60));
    }
    assert!(world.hosts[1].endpoint.drops().bypass > 0);
    assert!(state.is_some() && world.front().port.control.is_given_back(id));
}

// MCP-1.5
#[test]
fn a_connection_that_was_taken_back_is_entered_again_once_nothing_is_kept_for_it() {
    let mut world = set_up(7);
    let id = world.front().entered[0];
    world.act(1, |endpoint, _, _| endpoint.give_back(id));
    world.run(Span::from_ms(500));
    world.send_system(0, 1, &[1]);
    world.run(Span::from_ms(1));
    assert_eq!(world.front().entered, [id]);

    // What is refused is for the program to take.
    world.run(Span::from_ms(600));
    world.hosts[1].memory.most_events = 0;
    world.send_system(0, 1, &[2]);
    world.run(Span::from_ms(1));
    assert_eq!(world.front().entered, [id]);

    world.hosts[1].memory.most_events = usize::MAX;
    world.run(Span::from_ms(500));
    world.send_system(0, 1, &[3]);
    world.run(Span::from_ms(10));
    assert_eq!(world.front().entered, [id, id]);
    assert!(!world.front().port.control.is_given_back(id));
    let before = world.hosts[1].endpoint.drops().bypass;
    world.send_system(0, 1, &[4]);
    world.run(Span::from_ms(10));
    assert_eq!(messages(&mut world, 1), [1, 2, 3, 4]);
    assert_eq!(world.hosts[1].endpoint.drops().bypass, before);
}

// MCP-1.5
#[test]
fn what_the_program_has_performed_the_interface_program_does_not_perform_again() {
    let mut repeated = 0;
    for seed in 0..20 {
        let mut world = set_up(seed);
        let id = world.front().entered[0];
        world.act(1, |endpoint, _, _| endpoint.give_back(id));
        world.run(Span::from_ms(1));
        enter_window(&mut world, 1, 64, 7);
        world.set_faults(Faults::loss(Rate::percent(40)));
        for _ in 1..60 {
            rma(&mut world, 1, 8, Action::Atomic(Atomic::FetchAdd(1)));
            world.run(Span::from_ms(40));
        }
        world.run(Span::from_ms(10_000));
        assert!(world.front().entered.len() > 1, "{seed}");
        let counted = &world.front().port.counters;
        repeated += counted.answers - counted.placed;
        let done = |news: &Heard| matches!(news, Heard::Rma(_, _, Ok(())));
        assert_eq!(world.hosts[0].memory.count(done), 59, "{seed}");
        assert_eq!(world.hosts[1].memory.windows[&1][8], 59, "{seed}");
    }
    assert!(repeated > 0, "it was not asked again");
}

#[test]
fn a_connection_is_not_entered_in_the_midst_of_a_put() {
    let mut world = set_up(8);
    let id = world.front().entered[0];
    world.act(1, |endpoint, _, _| endpoint.give_back(id));
    world.hosts[1].memory.windows.insert(1, vec![0; 1 << 20]);
    world.run(Span::from_ms(1_100));
    rma(&mut world, 1, 0, Action::Put { len_bytes: 1 << 20 });
    while world.hosts[1].memory.windows[&1].last() == Some(&0) {
        assert_eq!(world.front().entered, [id]);
        world.run(Span::from_us(1));
    }
    // Its answer was the last thing that was waited for.
    world.run(Span::from_ms(1));
    assert_eq!(world.front().entered, [id, id]);
    assert_eq!(world.hosts[1].memory.windows[&1], vec![5; 1 << 20]);
}

/// Sends so many messages, at most eight of which are not told of yet, and says how long that took.
fn stream(world: &mut World, messages: u32) -> Span {
    let (begin, mut sent) = (world.now, 0u32);
    let mut told: Vec<u32> = Vec::new();
    world.run_until(Span::from_ms(2_000), |world| {
        let new = world.take_system(1).into_iter();
        told.extend(new.map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])));
        while sent < messages && sent < told.len() as u32 + 8 {
            let mut bytes = [0; 1000];
            bytes[..4].copy_from_slice(&sent.to_le_bytes());
            world.send_system(0, 1, &bytes);
            sent += 1;
        }
        told.len() == messages as usize
    });
    assert!((0..messages).eq(told), "each once, in order");
    world.now.since(begin)
}

fn is_unheard(world: &World) -> bool {
    is_without(world, WhyNot::Unheard)
}

/// Whether the interface program leaves the connection alone for this reason.
fn is_without(world: &World, why: WhyNot) -> bool {
    let mut peers = world.hosts[1].endpoint.peers();
    peers.any(|peer| peer.why_not == Some(why))
}

/// As veth does with what a program sends back, if there is none at its other end ([MCP-6.4]).
#[test]
fn a_connection_whose_peer_does_not_hear_the_interface_program_is_taken_back() {
    let mut world = connected(World::with_front_that(9, |front| {
        front.keeps_streams = true;
    }));
    let id = world.front().entered[0];
    world.front().loses_answers = true;
    let begin = world.now;
    while !is_unheard(&world) {
        stream(&mut world, 64);
        let took = world.now.since(begin);
        assert!(took < Span::from_ms(100), "{took:?}");
    }
    assert!(world.front().port.control.is_given_back(id));
    // It stays so, and nothing is waited for any more.
    for _ in 0..30 {
        assert!(stream(&mut world, 64) < Span::from_ms(2));
        world.run(Span::from_ms(2_000));
    }
    assert_eq!(world.front().entered, [id]);
    // But not for ever.
    world.front().loses_answers = false;
    world.run(Span::from_ms(5_000));
    stream(&mut world, 64);
    assert_eq!(world.front().entered, [id, id]);
    assert!(stream(&mut world, 640) < Span::from_ms(10) && !is_unheard(&world));
}

#[test]
fn one_packet_of_ten_that_is_lost_is_no_reason_to_take_a_connection_back() {
    for seed in 0..20 {
        let mut world = set_up(seed);
        world.set_faults(Faults::loss(Rate::percent(10)));
        stream(&mut world, 2_000);
        assert!(!is_unheard(&world) && world.front().entered.len() == 1);
    }
}

/// Messages that come singly, and say with which message they are the one after the other.
fn one_by_one(world: &mut World, messages: u32) {
    for _ in 0..messages {
        stream(world, 1);
        world.run(Span::from_us(20));
    }
}

fn behind_driver(seed: u64, keeps_streams: bool) -> World {
    connected(World::with_front_that(seed, |front| {
        front.takes_singly = true;
        front.keeps_streams = keeps_streams;
    }))
}

// MCP-1.6
#[test]
fn a_stream_is_left_to_the_socket_and_what_comes_singly_is_not() {
    let mut world = behind_driver(10, false);
    let id = world.front().entered[0];
    one_by_one(&mut world, 1_000);
    assert!(!is_without(&world, WhyNot::Streams));
    stream(&mut world, 1_000);
    assert!(is_without(&world, WhyNot::Streams));
    assert!(world.front().port.control.is_given_back(id));
    // Between streams it is not tried again each time.
    for _ in 0..100 {
        stream(&mut world, 200);
        world.run(Span::from_ms(1));
    }
    assert_eq!(world.front().entered, [id]);
    // It comes back, and what was lost meanwhile is sent again at once.
    one_by_one(&mut world, 1_000);
    assert_eq!(world.front().entered, [id, id]);
    assert!(!is_without(&world, WhyNot::Streams));
    let traffic = world.hosts[1].endpoint.traffic();
    assert_eq!(traffic.streams_left, 1);
    assert_eq!(world.hosts[0].endpoint.traffic().timeouts, 0);
}

#[test]
fn what_much_is_read_of_comes_in_a_stream_and_small_reads_do_not() {
    const LEN: usize = 1 << 20;
    let mut world = behind_driver(13, false);
    world.hosts[0].memory.windows.insert(1, vec![7; LEN]);
    let read = |world: &mut World, len: usize| {
        let len_bytes = len as u64;
        world.rma_by(1, vec![0; len], 1, 0, Action::Get { len_bytes });
        world.run(Span::from_us(60 + len_bytes / 10));
        let news = world.hosts[1].memory.take();
        assert!(
            matches!(news[..], [Heard::Rma(_, _, Ok(()))]),
            "{len}: {news:?}"
        );
    };
    for _ in 0..1_000 {
        read(&mut world, 8);
    }
    assert!(!is_without(&world, WhyNot::Streams));
    read(&mut world, LEN);
    assert!(is_without(&world, WhyNot::Streams));
}

// MCP-4.5
#[test]
fn a_stream_of_puts_is_left_to_the_socket_and_puts_that_come_singly_are_not() {
    const LEN: usize = 1 << 20;
    let mut world = behind_driver(14, false);
    // A put and its answer take less than the time that packets of a stream take.
    world.set_propagation(1_000);
    enter_window(&mut world, 1, LEN, 7);
    let put = |world: &mut World, len: usize| {
        let len_bytes = len as u64;
        rma(world, 1, 0, Action::Put { len_bytes });
        let mut done = 0;
        world.run_until(Span::from_ms(100), |world| {
            let is_done = |news: &Heard| matches!(news, Heard::Rma(_, _, Ok(())));
            done += world.hosts[0]
                .memory
                .take()
                .iter()
                .filter(|news| is_done(news))
                .count();
            done > 0
        });
        assert_eq!(done, 1, "{len}");
    };
    for (len, puts, by_socket) in [(8, 1_000, false), (LEN, 5, true), (8, 10_000, false)] {
        for _ in 0..puts {
            put(&mut world, len);
        }
        assert_eq!(is_without(&world, WhyNot::Streams), by_socket, "{len}");
    }
}

#[test]
fn who_changes_between_both_is_tried_less_and_less_often() {
    let mut world = behind_driver(11, false);
    for _ in 0..40 {
        stream(&mut world, 1_000);
        one_by_one(&mut world, 600);
    }
    let left = world.hosts[1].endpoint.traffic().streams_left;
    assert!((2..8).contains(&left), "{left}");
}

#[test]
fn a_port_that_is_to_keep_streams_does_and_so_does_one_in_a_driver() {
    for mut world in [behind_driver(12, true), set_up(12)] {
        stream(&mut world, 1_000);
        assert!(!is_without(&world, WhyNot::Streams));
    }
}
