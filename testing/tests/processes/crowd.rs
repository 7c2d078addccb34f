//! Many processes on few cores: connections cross, and everybody talks to everybody.

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
