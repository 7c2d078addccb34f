//! A process that is stopped is not gone.

use std::thread;
use std::time::Duration;

use bcl::{Access, Event, Which};
use bcl_testing::fixture::Udp;
use bcl_testing::peer::{Peer, command};
use bcl_testing::{PATIENCE, World};

/// SEM-7.3
#[test]
fn a_stopped_peer_is_waited_for() {
    let world: World = World::new();
    let us = world.open();
    let mut peer = Peer::start(world.folder());
    peer.stop();
    us.port().send_system(peer.address, b"x", 1).unwrap();
    us.serve_for(Duration::from_millis(200));
    peer.signal(libc::SIGCONT);
    assert_eq!(us.sent(1).0, Ok(()));
    peer.tell("poll 1000");
    peer.stop();
    for cookie in 0..500 {
        us.port()
            .send_system(peer.address, &[1; 1000], cookie)
            .unwrap();
    }
    us.serve_for(Duration::from_millis(200));
    let is_gone = |event: &Event| matches!(event, Event::PeerGone { .. });
    assert!(us.find(is_gone).is_none());
    peer.signal(libc::SIGCONT);
    peer.order("serve 1000");
    for cookie in 0..500 {
        assert_eq!(us.sent(cookie).0, Ok(()));
    }
}

/// A port that closes waits for peers on other nodes; the process's other ports are served meanwhile.
/// SEM-5.4
#[test]
fn a_port_that_waits_for_a_stopped_peer_to_close_holds_up_no_other() {
    let world: World<Udp> = World::new();
    let mut command = command(world.folder(), &["obey"]);
    command
        .env("BCL_DEVICE", "udp")
        .env("BCL_NODE", world.node().to_string());
    let peer = Peer::spawn(command);
    let open = || world.options().open().expect("a port opens");
    let (mut closes, mut asks, mut owns) = (open(), open(), open());
    closes.send_system(peer.address, b"x", 1).unwrap();
    assert!(closes.wait(Which::Send, Some(PATIENCE)).unwrap().is_some());
    owns.bind(0, vec![7; 8], Access::ALL).unwrap();
    peer.stop();
    let closing = thread::spawn(move || closes.close());
    // Nobody polls the owner, so that the thread which all ports have in common answers.
    for cookie in 0..50 {
        thread::sleep(Duration::from_millis(1));
        asks.get(owns.address(), 0, 0, vec![0; 8], cookie).unwrap();
        let event = asks.wait(Which::Send, Some(PATIENCE)).unwrap();
        assert!(matches!(event, Some(Event::RmaDone { result: Ok(()), .. })));
    }
    assert!(!closing.is_finished());
    peer.signal(libc::SIGCONT);
    closing.join().expect("no panic").expect("it closes");
}
