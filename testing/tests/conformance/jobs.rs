//! SEM-2: who may reach whom. Other users and versions need processes of their own.

use bcl::{JobKey, OpError};
use bcl_observe::{Counter, attach};
use bcl_testing::{PortLike, conformance};

conformance! {
    /// SEM-2.1: in both directions, and each refusal is counted at the port that was asked.
    fn ports_of_different_jobs_are_told(world) {
        let ours = world.open();
        let other_key = JobKey::from_hex(&"09".repeat(32)).unwrap();
        let theirs = world.open_with(world.options().key(other_key));
        ours.port().send_system(theirs.address, b"x", 1).unwrap();
        ours.port().send(theirs.address, 1, vec![1; 9], 2).unwrap();
        assert_eq!(ours.sent(1).0, Err(OpError::KeyMismatch));
        assert_eq!(ours.sent(2).0, Err(OpError::KeyMismatch));
        theirs.port().get(ours.address, 0, 0, vec![1; 9], 3).unwrap();
        assert_eq!(theirs.rma(3).0, Err(OpError::KeyMismatch));

        let refused_key = |address| {
            let folder = bcl::Folder::open(world.folder()).unwrap();
            attach(&folder, address).unwrap().read(Counter::RefusedKey)
        };
        let before = refused_key(theirs.address);
        ours.port().send_system(theirs.address, b"x", 4).unwrap();
        assert_eq!(ours.sent(4).0, Err(OpError::KeyMismatch));
        // A request that crosses a network may be sent again before its refusal is there, and is then refused again.
        assert!(refused_key(theirs.address) > before);
    }
}

/// SEM-2.3: whoever answers here speaks another version.
#[test]
fn a_peer_of_another_version_is_named() {
    use bcl_node::handshake::{Reason, refuse};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    let world: bcl_testing::World = bcl_testing::World::new();
    let us = world.open();
    let folder = bcl_node::Folder::open(world.folder()).unwrap();
    let bound = folder.bind(us.address.node, 77, false).unwrap();
    let mut waiting = libc::pollfd {
        fd: bound.listener().as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    us.port().send_system(bound.address(), b"x", 1).unwrap();
    // SAFETY: one entry, on this stack; accept4 takes null for an address that nobody wants, and gives a new
    // descriptor, which is ours.
    let sock = unsafe {
        assert_eq!(libc::poll(&raw mut waiting, 1, 10_000), 1);
        let fd = libc::accept4(
            waiting.fd,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            libc::SOCK_CLOEXEC,
        );
        assert!(fd >= 0);
        OwnedFd::from_raw_fd(fd)
    };
    bcl_node::fdpass::send(&sock, &refuse(Reason::Version, 9), &[]).unwrap();
    let result = us.sent(1).0;
    assert!(
        matches!(result, Err(OpError::VersionMismatch { .. })),
        "{result:?}"
    );
}
