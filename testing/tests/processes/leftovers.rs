//! What is left: descriptors, threads, memory, names.

use std::fs;
use std::path::Path;

use bcl_testing::World;
use bcl_testing::peer::Peer;

/// Descriptors, threads, mappings of this process.
fn belongings() -> (usize, usize, usize) {
    let count = |folder: &str| fs::read_dir(folder).expect("/proc is there").count();
    let maps = fs::read_to_string("/proc/self/maps").expect("/proc is there");
    let ours = maps.lines().filter(|line| line.contains("memfd:bcl"));
    (
        count("/proc/self/fd"),
        count("/proc/self/task"),
        ours.count(),
    )
}

/// SEM-1.3: 1,000 times open, connect, close.
#[test]
fn opening_and_closing_leaves_nothing() {
    let world: World = World::new();
    let mut peer = Peer::start(world.folder());
    let round = || {
        let us = world.open();
        us.port().send_system(peer.address, b"hello", 1).unwrap();
        assert_eq!(us.sent(1).0, Ok(()));
    };
    round();
    let before = belongings();
    for _ in 0..1000 {
        round();
    }
    assert_eq!(belongings(), before);
    peer.tell("poll 100000");
    let fds = Path::new("/proc").join(peer.pid().to_string()).join("fd");
    let of_peer = fs::read_dir(fds).expect("the peer lives").count();
    assert!(of_peer < 30, "the peer has {of_peer} descriptors open");
}

/// SEM-1.3: after kill -9 peers, or the next to open, sweep the name.
#[test]
fn a_killed_process_leaves_nothing() {
    let shm = || fs::read_dir("/dev/shm").map_or(0, Iterator::count);
    let before = shm();
    let world: World = World::new();
    let us = world.open();
    let mut peers: Vec<Peer> = (0..3).map(|_| Peer::start(world.folder())).collect();
    peers[0].tell(&format!("meet {}", us.address));
    us.message();
    assert_eq!(world.names().len(), 4);
    for peer in &mut peers {
        peer.kill();
    }
    us.peer_gone(peers[0].address);
    let other = world.open();
    other.meet(&us);
    let mut left = [us.address.to_string(), other.address.to_string()];
    left.sort();
    assert_eq!(world.names(), left);
    assert_eq!(shm(), before);
}
