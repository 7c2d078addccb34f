//! The end of a peer in each phase of each operation: what was pending fails with the cause, and nothing hangs.

use std::time::{Duration, Instant};

use bcl::{Access, Buffer, Cause, CopyMode, DmaBuffer, Event, OpError, QUIET, Which};
use bcl_testing::fixture::SingleCopy;
use bcl_testing::peer::Peer;
use bcl_testing::{PortLike, Seat, World, contents};

const KILLED: Cause = Cause::Killed(9);
const LOST: Result<(), OpError> = Err(OpError::PeerGone(KILLED));
const LONG: usize = 16 << 20;

/// A port of ours, and a peer that is connected and then does nothing, not even poll, until it is told.
struct Scene {
    us: Seat<SingleCopy>,
    peer: Peer,
    world: World,
}

fn scene() -> Scene {
    meeting(CopyMode::Single)
}

fn meeting(copy: CopyMode) -> Scene {
    let world = World::new();
    let us = world.open_with(world.options().copy_mode(copy));
    let mut peer = Peer::start_copying(world.folder(), copy);
    peer.tell(&format!("meet {}", us.address));
    assert_eq!(us.message().0, peer.address);
    us.peer_up(peer.address);
    peer.tell("poll 1000");
    Scene { us, peer, world }
}

impl Scene {
    fn kill(&mut self) {
        self.peer.kill();
        assert_eq!(self.us.peer_gone(self.peer.address), KILLED);
    }
}

#[test]
fn before_connecting() {
    let world: World = World::new();
    let mut peer = Peer::start(world.folder());
    let us = world.open();
    peer.kill();
    us.port().send_system(peer.address, b"x", 1).unwrap();
    assert_eq!(us.sent(1).0, Err(OpError::NoPort));
    us.port().post(1, vec![0; 8], 2).unwrap();
    us.port().get(peer.address, 0, 0, vec![0; 8], 3).unwrap();
    assert_eq!(us.rma(3).0, Err(OpError::NoPort));
}

#[test]
fn while_connecting() {
    let world: World = World::new();
    let mut peer = Peer::start(world.folder());
    let us = world.open();
    peer.stop();
    us.port().send_system(peer.address, b"x", 1).unwrap();
    us.port().send(peer.address, 1, vec![1; LONG], 2).unwrap();
    us.serve_for(Duration::from_millis(50));
    peer.kill();
    assert_eq!(us.sent(1).0, Err(OpError::NoPort));
    let (result, buffer) = us.sent(2);
    assert_eq!(result, Err(OpError::NoPort));
    assert_eq!(buffer.map(|buffer| buffer.len()), Some(LONG));
}

#[test]
fn with_system_messages_waiting_for_room() {
    let mut scene = scene();
    let (us, to) = (&scene.us, scene.peer.address);
    for cookie in 0..1000 {
        us.port().send_system(to, &[1; 4096], cookie).unwrap();
    }
    us.serve();
    scene.kill();
    let sent = (0..1000)
        .map(|cookie| scene.us.sent(cookie).0)
        .collect::<Vec<_>>();
    let gone_at = sent
        .iter()
        .position(Result::is_err)
        .expect("the pool is finite");
    assert!(gone_at > 0, "what found room was sent");
    assert!(sent[gone_at..].iter().all(|result| *result == LOST));
}

#[test]
fn with_a_message_waiting_for_a_post() {
    for copy in [CopyMode::Auto, CopyMode::Single, CopyMode::Stream] {
        let mut scene = meeting(copy);
        let to = scene.peer.address;
        let us = &scene.us;
        us.port().send(to, 1, vec![1; LONG], 1).unwrap();
        us.port().send(to, 1, vec![1; 100], 2).unwrap();
        scene.peer.tell("poll 1000");
        scene.us.serve();
        scene.kill();
        assert_eq!(scene.us.sent(1).0, LOST);
        assert_eq!(scene.us.sent(2).0, LOST);
    }
}

#[test]
fn the_sender_of_a_message_that_waits_for_a_post() {
    let mut scene = scene();
    let us = scene.us.address;
    for (channel, len) in [(1, LONG), (1, 100), (2, 100)] {
        scene.peer.tell(&format!("send {us} {channel} {len} heap"));
    }
    scene.us.serve_for(Duration::from_millis(20));
    scene.kill();
    // What was not received is withdrawn: the buffer waits for the next message.
    scene.us.port().post(1, vec![0; 8], 1).unwrap();
    scene.us.serve();
    let mut next = Peer::start(scene.world.folder());
    next.tell(&format!("meet {us}"));
    next.tell(&format!("send {us} 1 8 heap"));
    let (result, len, bytes) = scene.us.received(1);
    assert_eq!((result, len), (Ok(()), 8));
    contents::check(8, &bytes);
}

/// Serves our side until a long transfer is under way, and leaves it in the middle.
fn half_way(scene: &mut Scene) {
    for _ in 0..8 {
        scene.us.serve();
        scene.peer.tell("poll 2");
    }
}

#[test]
fn while_a_message_streams_to_it() {
    let mut scene = meeting(CopyMode::Stream);
    let to = scene.peer.address;
    scene.peer.tell(&format!("post 1 {LONG}"));
    scene.us.port().send(to, 1, vec![1; LONG], 1).unwrap();
    half_way(&mut scene);
    scene.kill();
    assert_eq!(scene.us.sent(1).0, LOST);
}

#[test]
fn while_a_message_streams_from_it() {
    let mut scene = meeting(CopyMode::Stream);
    scene.us.port().post(1, vec![0; LONG], 1).unwrap();
    scene
        .peer
        .tell(&format!("send {} 1 {LONG} heap", scene.us.address));
    half_way(&mut scene);
    scene.kill();
    assert_eq!(scene.us.received(1).0, LOST);
}

#[test]
fn while_it_copies_from_us() {
    for dma in [false, true] {
        let mut scene = scene();
        let to = scene.peer.address;
        scene.peer.tell(&format!("post 1 {}", 4 * LONG));
        let buffer: Buffer = if dma {
            DmaBuffer::new(4 * LONG).unwrap().into()
        } else {
            vec![1; 4 * LONG].into()
        };
        scene.us.port().send(to, 1, buffer, 1).unwrap();
        half_way(&mut scene);
        scene.kill();
        assert_eq!(scene.us.sent(1).0, LOST, "dma: {dma}");
    }
}

#[test]
fn while_we_copy_from_it() {
    let mut scene = scene();
    scene.us.port().post(1, vec![0; 4 * LONG], 1).unwrap();
    scene
        .peer
        .tell(&format!("send {} 1 {} heap", scene.us.address, 4 * LONG));
    for _ in 0..8 {
        assert!(scene.us.port().poll(bcl::Which::Any).unwrap().is_none());
    }
    scene.kill();
    assert_eq!(scene.us.received(1).0, LOST);
}

#[test]
fn an_owner_whose_thread_acts_for_us() {
    let mut scene = scene();
    scene.peer.tell(&format!("bind 0 {LONG} heap"));
    let (us, to) = (&scene.us, scene.peer.address);
    us.port().put(to, 0, 0, vec![1; 8], 0).unwrap();
    assert_eq!(us.rma(0).0, Ok(0));
    scene.peer.stop();
    us.port().put(to, 0, 0, vec![1; LONG], 1).unwrap();
    us.port().get(to, 0, 0, vec![1; LONG], 2).unwrap();
    us.port().fetch_add(to, 0, 0, 1, 3).unwrap();
    scene.us.serve_for(Duration::from_millis(10));
    scene.kill();
    for cookie in 1..=3 {
        assert_eq!(scene.us.rma(cookie).0, Err(OpError::PeerGone(KILLED)));
    }
}

#[test]
fn the_owner_of_a_window_that_we_have_mapped() {
    let mut scene = scene();
    scene.peer.tell("bind 0 4096 dma");
    let to = scene.peer.address;
    scene.us.port().fetch_add(to, 0, 0, 1, 1).unwrap();
    assert!(scene.us.rma(1).0.is_ok());
    scene.kill();
    scene.us.port().fetch_add(to, 0, 0, 1, 2).unwrap();
    assert_eq!(scene.us.rma(2).0, Err(OpError::NoPort));
}

#[test]
fn whoever_writes_to_our_window() {
    let mut scene = scene();
    let us = scene.us.address;
    let window = vec![0; LONG];
    scene.us.port().bind(0, window, Access::ALL).unwrap();
    scene.peer.tell(&format!("put {us} 0 {LONG}"));
    scene.peer.tell("poll 1000");
    scene.kill();
    assert_eq!(scene.us.port().unbind(0).unwrap().len(), LONG);
}

/// SEM-7.4
#[test]
fn what_was_sent_before_arrives() {
    let mut scene = scene();
    let us = scene.us.address;
    scene.us.port().post(1, vec![0; 10], 7).unwrap();
    scene.peer.tell(&format!("system {us} 200 50"));
    scene.peer.tell(&format!("send {us} 1 10 heap"));
    scene.peer.kill();
    for seed in 0..50 {
        let (from, bytes) = scene.us.message();
        assert_eq!(from, scene.peer.address);
        contents::check(seed, &bytes);
    }
    assert_eq!(scene.us.received(7).0, Ok(()));
    assert_eq!(scene.us.peer_gone(scene.peer.address), KILLED);
}

/// SEM-7.4: although the event queue of the receiver was full when its peer died.
#[test]
fn what_was_sent_before_arrives_even_late() {
    let mut scene = scene();
    let us = scene.us.address;
    // 4,096 events that nobody takes.
    for cookie in 0..4096 {
        let mut port = scene.us.port();
        port.post(1, vec![0; 1], cookie).unwrap();
        port.cancel_post(1, cookie).unwrap();
    }
    scene.peer.tell(&format!("system {us} 200 50"));
    scene.peer.kill();
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..100 {
        let full = scene.us.port().poll(Which::Send).unwrap();
        assert!(full.is_none(), "{full:?}");
    }
    for seed in 0..50 {
        let (from, bytes) = scene.us.message();
        assert_eq!(from, scene.peer.address);
        contents::check(seed, &bytes);
    }
    assert_eq!(scene.us.peer_gone(scene.peer.address), KILLED);
}

/// SEM-7.5: messages of a dead peer can be read and released.
#[test]
fn held_messages_outlive_their_sender() {
    let mut scene = scene();
    scene
        .peer
        .tell(&format!("system {} 3000 5", scene.us.address));
    let mut held = Vec::new();
    for _ in 0..5 {
        let event = scene
            .us
            .expect("a message", |event| matches!(event, Event::Message(_)));
        let Event::Message(message) = event else {
            unreachable!()
        };
        held.push(message);
    }
    scene.kill();
    for (seed, message) in held.into_iter().enumerate() {
        let mut port = scene.us.port();
        contents::check(seed as u64, &port.copy_of(&message));
        port.release(message).unwrap();
    }
}

/// SEM-7.2
#[test]
fn the_cause_is_told() {
    let causes = [
        ("close", Cause::Closed),
        ("exit 0", Cause::Exited(0)),
        ("exit 7", Cause::Exited(7)),
        ("abort", Cause::Killed(libc::SIGABRT)),
    ];
    for (order, cause) in causes {
        let mut scene = scene();
        let to = scene.peer.address;
        scene.us.port().send(to, 1, vec![1; 9], 1).unwrap();
        scene.peer.order(order);
        assert_eq!(scene.us.sent(1).0, Err(OpError::PeerGone(cause)), "{order}");
        assert_eq!(scene.us.peer_gone(to), cause, "{order}");
    }
}

/// SEM-7.2: last words are heard although requests to the peer were on their way.
#[test]
fn the_cause_is_told_to_a_busy_requester() {
    for _ in 0..5 {
        let mut scene = scene();
        let to = scene.peer.address;
        scene.peer.tell(&format!("bind 0 {LONG} heap"));
        scene.us.port().put(to, 0, 0, vec![1; LONG], 1).unwrap();
        scene.us.serve_for(Duration::from_millis(3));
        scene.peer.order("close");
        assert_eq!(scene.us.peer_gone(to), Cause::Closed);
        assert_eq!(scene.us.rma(1).0, Err(OpError::PeerGone(Cause::Closed)));
    }
}

/// SEM-7.3: within 100 ms, as the median of several deaths.
#[test]
fn pending_operations_fail_within_100_ms() {
    let mut times: Vec<Duration> = (0..9)
        .map(|_| {
            let mut scene = scene();
            let to = scene.peer.address;
            scene.us.port().send(to, 1, vec![1; 9], 1).unwrap();
            scene.us.serve();
            let killed = Instant::now();
            scene.peer.kill_only();
            assert_eq!(scene.us.sent(1).0, LOST);
            killed.elapsed()
        })
        .collect();
    times.sort();
    assert!(times[4] < Duration::from_millis(100), "{times:?}");
}

/// SEM-7.6: a new process under the same number is a new peer.
#[test]
fn the_number_is_opened_anew() {
    let world: World = World::new();
    let us = world.open();
    for cookie in 0..20 {
        let mut peer = Peer::start(world.folder());
        peer.tell("close");
        peer.tell("open 99");
        peer.tell(&format!("meet {}", us.address));
        us.message();
        let number = bcl::Address {
            port: 99,
            ..peer.address
        };
        us.port().send_system(number, b"x", cookie).unwrap();
        assert_eq!(us.sent(cookie).0, Ok(()));
        peer.kill();
        us.port()
            .send_system(number, b"x", QUIET - 1 - cookie)
            .unwrap();
    }
}
