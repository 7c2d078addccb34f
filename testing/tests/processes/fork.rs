//! Fork: the port stays the parent's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bcl::{Error, Port};
use bcl_testing::World;
use bcl_testing::fixture::{Fixture, Shared};
use bcl_testing::peer::Peer;

/// Runs in a forked child; its exit status says whether it was right.
pub fn in_child(act: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the test has one thread besides the service thread, which does not hold the allocator for long;
    // the child ends without returning.
    match unsafe { libc::fork() } {
        0 => {
            let right =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).unwrap_or(false);
            // SAFETY: nothing of the parent's is to be run or flushed.
            unsafe { libc::_exit(i32::from(!right)) }
        }
        child => {
            let mut status = 0;
            // SAFETY: the child is ours, and the status lives on this stack.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            status
        }
    }
}

/// SEM-8.2: even if another thread holds the port at that moment.
#[test]
fn a_shared_port_is_refused_at_once() {
    let world = World::<Shared>::new();
    let port = Shared::open(world.options()).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let _ = port.poll(bcl::Which::Any);
            }
        });
        for _ in 0..50 {
            let status = in_child(|| {
                let refused = port.poll(bcl::Which::Any).map(drop);
                let waited = port.wait(bcl::Which::Any, None).map(drop);
                [refused, waited]
                    .iter()
                    .all(|result| matches!(result, Err(Error::Forked)))
            });
            assert_eq!(status, 0);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// SEM-8.2
#[test]
fn the_child_opens_ports_of_its_own_and_the_parent_goes_on() {
    let world: World = World::new();
    let us = world.open();
    let mut peer = Peer::start(world.folder());
    peer.tell(&format!("meet {}", us.address));
    us.message();
    for _ in 0..5 {
        let options = world.options();
        let status = in_child(|| {
            let mut port = us.port();
            let refused = [
                port.send_system(peer.address, b"x", 1),
                port.send(peer.address, 1, vec![1], 1),
                port.post(1, vec![1], 1),
                port.poll(bcl::Which::Any).map(drop),
                port.wait(bcl::Which::Any, None).map(drop),
            ];
            let clear = refused
                .iter()
                .all(|result| matches!(result, Err(Error::Forked)));
            let mut own: Port = options.open().expect("a port opens in the child");
            own.send_system(peer.address, b"from the child", 1)
                .expect("a send starts");
            let sent = own.wait(bcl::Which::Send, Some(bcl_testing::PATIENCE));
            let sent = matches!(sent, Ok(Some(bcl::Event::Sent { result: Ok(()), .. })));
            clear && sent && own.close().is_ok()
        });
        assert_eq!(status, 0);
        us.port().send_system(peer.address, b"x", 7).unwrap();
        assert_eq!(us.sent(7).0, Ok(()));
    }
}
