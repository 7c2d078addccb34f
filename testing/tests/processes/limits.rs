//! Other users: children with limits of their own.

use bcl::OpError;
use bcl_testing::World;
use bcl_testing::peer::{Peer, command};
use std::os::unix::process::CommandExt;

/// SEM-9.2: a peer whose table is full refuses new connections, and keeps the ones it has.
#[test]
fn a_full_descriptor_table_is_told() {
    let world: World = World::new();
    let us = world.open();
    let mut command = command(world.folder(), &["obey"]);
    // SAFETY: setrlimit is safe in a forked child.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit {
                rlim_cur: 24,
                rlim_max: 24,
            };
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            Ok(())
        })
    };
    let mut peer = Peer::spawn(command);
    peer.tell(&format!("meet {}", us.address));
    us.message();
    let others: Vec<_> = (0..10).map(|_| world.open()).collect();
    let results: Vec<_> = others
        .iter()
        .map(|other| {
            other.port().send_system(peer.address, b"x", 1).unwrap();
            other.sent(1).0
        })
        .collect();
    assert!(
        results.contains(&Err(OpError::NoDescriptors)),
        "{results:?}"
    );
    us.port()
        .send_system(peer.address, b"still here", 2)
        .unwrap();
    assert_eq!(us.sent(2).0, Ok(()));
}

/// SEM-9.2: a process whose address space is full is told so, keeps the peers it has, and works as before once
/// there is room.
#[test]
fn exhausted_memory_is_told_and_what_is_there_goes_on() {
    let world: World = World::new();
    let (friend, stranger) = world.pair();
    let mut peer = Peer::start(world.folder());
    peer.tell(&format!("meet {}", friend.address));
    friend.message();
    peer.tell("memory exhausted");

    let met = peer.ask(&format!("meet {}", stranger.address));
    assert!(met.contains("NoMemory"), "{met}");
    let refusal = peer.ask("dma 4194304");
    assert!(refusal.contains("memory"), "{refusal}");
    peer.tell(&format!("meet {}", friend.address));
    friend.message();
    // The others reach whom they know, and are told if there is no room for them.
    friend.port().send_system(peer.address, b"x", 1).unwrap();
    assert_eq!(friend.sent(1).0, Ok(()));
    stranger.port().send_system(peer.address, b"x", 1).unwrap();
    assert_eq!(stranger.sent(1).0, Err(OpError::NoMemory));

    peer.tell("memory free");
    peer.tell("dma 4194304");
    peer.tell(&format!("meet {}", stranger.address));
    stranger.message();
}

/// SEM-2.2: needs root, to become somebody else.
#[test]
fn other_users_are_refused_unless_allowed() {
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        println!("not root: nobody else to be, nothing was checked");
        return;
    }
    const NOBODY: u32 = 65534;
    for allowed in [false, true] {
        let world: World = World::new();
        let options = world.options();
        let us = world.open_with(if allowed {
            options.allow_uids(vec![NOBODY])
        } else {
            options
        });
        let mut command = command(world.folder(), &["obey"]);
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
        command.env("BCL_ALLOW_UIDS", "0");
        // The test's folder may be closed to others; the program comes by a descriptor.
        let mut peer = Peer::spawn(command);
        let met = peer.ask(&format!("meet {}", us.address));
        us.port().send_system(peer.address, b"x", 1).unwrap();
        if allowed {
            us.serve();
            assert_eq!((met.as_str(), us.sent(1).0), ("ok", Ok(())));
        } else {
            assert!(met.contains("NotAllowed"), "{met}");
            assert_eq!(us.sent(1).0, Err(OpError::NotAllowed));
        }
    }
}
