//! Other users: children with limits of their own.

use bcl::OpError;
use bcl_testing::World;
use bcl_testing::peer::{Peer, command};
use std::os::unix::process::CommandExt;

/// Who anybody may become.
const NOBODY: u32 = 65534;

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

/// SEM-9.2: the kernel limits how many descriptors of a user without privileges are on their way in sockets, whoever of
/// its processes sent them. A connection waits until others have arrived, whichever side begins; not for ever.
#[test]
fn descriptors_on_their_way_are_waited_for() {
    const LIMIT: u64 = 48;
    let world: World = World::new();
    // SAFETY: asks for a number.
    let is_root = unsafe { libc::geteuid() } == 0;
    let others = if is_root { vec![NOBODY] } else { Vec::new() };
    let us = world.open_with(world.options().allow_uids(others.clone()));
    let mut command = command(world.folder(), &["obey"]);
    if is_root {
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
        command.env("BCL_ALLOW_UIDS", "0");
    }
    // SAFETY: setrlimit is safe in a forked child.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit {
                rlim_cur: LIMIT,
                rlim_max: LIMIT,
            };
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            Ok(())
        })
    };
    let mut peer = Peer::spawn(command);

    peer.tell("fly 300");
    peer.tell(&format!("meet {}", us.address));
    us.message();

    let stranger = || world.open_with(world.options().allow_uids(others.clone()));
    let other = stranger();
    peer.tell("fly 300");
    other.port().send_system(peer.address, b"x", 1).unwrap();
    assert_eq!(other.sent(1).0, Ok(()));

    let third = stranger();
    peer.tell("fly 60000");
    let met = peer.ask(&format!("meet {}", third.address));
    assert!(met.contains("NoDescriptors"), "{met}");
    let fourth = stranger();
    fourth.port().send_system(peer.address, b"x", 1).unwrap();
    assert_eq!(fourth.sent(1).0, Err(OpError::NoDescriptors));
}

/// SEM-2.2: needs root, to become somebody else.
#[test]
fn other_users_are_refused_unless_allowed() {
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        println!("not root: nobody else to be, nothing was checked");
        return;
    }
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
