//! A process that is stopped is not gone.

use std::time::Duration;

use bcl::Event;
use bcl_testing::World;
use bcl_testing::peer::Peer;

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
