//! Many processes on few cores: connections cross, and everybody talks to everybody.

use bcl::QUIET;
use bcl_testing::World;
use bcl_testing::peer::{Peer, command};

fn crowd(count: u16, rounds: u64) {
    let world: World = World::new();
    let mut peers: Vec<Peer> = (0..count)
        .map(|index| {
            let role = [
                "crowd",
                &index.to_string(),
                &count.to_string(),
                &rounds.to_string(),
            ];
            Peer::spawn(command(world.folder(), &role))
        })
        .collect();
    for peer in &mut peers {
        peer.order("go");
    }
    for peer in &mut peers {
        assert_eq!(peer.line(), "done", "{}", peer.address);
    }
    for peer in &mut peers {
        peer.order("leave");
    }
    for peer in &mut peers {
        assert_eq!(peer.end(), 0, "{}", peer.address);
    }
    assert_eq!(world.names(), [".lock"; 0]);
}

/// 64 processes, all to all, all at once: 2,016 connections, each asked for from both sides.
#[test]
fn sixty_four_processes_all_to_all() {
    crowd(64, 4);
}

#[test]
fn eight_processes_exchange_more() {
    crowd(8, 100);
}

/// 500 peers of one receiver: each of their messages is met.
#[test]
fn five_hundred_peers_of_one_receiver() {
    let world: World = World::new();
    let us = world.open();
    let count = (descriptors() / 16).min(500);
    if count < 500 {
        println!("descriptors for {count} peers only: raise the hard limit (ulimit -Hn) to 8192");
    }
    let peers: Vec<_> = (0..count).map(|_| world.open()).collect();
    for round in 0..3u8 {
        for peer in &peers {
            peer.port()
                .send_system(us.address, &[round; 60], QUIET)
                .unwrap();
        }
        let mut from: Vec<_> = peers.iter().map(|_| us.message().0).collect();
        from.sort();
        from.dedup();
        assert_eq!(from.len(), count, "round {round}");
    }
    assert_eq!(us.port().peers().len(), count);
}

/// Raises the limit of descriptors as far as it goes; all 500 live in this process.
fn descriptors() -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit lives on this stack.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
    }
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}
