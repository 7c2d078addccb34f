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
