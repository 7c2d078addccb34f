//! Fork: the port stays the parent's.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Instant;

use bcl::{Error, Port};
use bcl_testing::World;
use bcl_testing::fixture::{Fixture, Shared};
use bcl_testing::peer::Peer;

/// Runs in a forked child; its exit status says whether it was right.
fn in_child(act: impl FnOnce() -> bool) -> i32 {
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

/// Descriptors of this process, as /proc has them, without those of the kernel's own files, which are read for a moment.
fn descriptors() -> BTreeSet<i32> {
    let entries = std::fs::read_dir("/proc/self/fd").expect("/proc is there");
    let of_files = entries
        .flatten()
        .filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|to| !to.starts_with("/proc")));
    of_files
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// What the test itself has, and a child may keep.
static OURS: OnceLock<BTreeSet<i32>> = OnceLock::new();
static FORKS: AtomicU32 = AtomicU32::new(0);
static WRONG: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Called by whichever thread of the library has just made a descriptor.
fn fork_here() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    let status = in_child(|| OURS.get().is_some_and(|ours| descriptors().is_subset(ours)));
    if status != 0 {
        let place = std::backtrace::Backtrace::force_capture().to_string();
        WRONG.lock().unwrap().push(place);
    }
}

/// SEM-1.3: wherever a program forks, its child keeps nothing of the library's, and with it no number, no name and no lock.
#[test]
fn a_child_keeps_no_descriptor_wherever_it_is_forked() {
    let world: World = World::new();
    OURS.set(descriptors()).unwrap();
    bcl_os::fd::hook::call(fork_here);
    // Two ports that meet in shared memory, and two that meet over UDP.
    let key = bcl::JobKey::from_hex(&"07".repeat(32)).unwrap();
    let over_udp = |node: [u8; 4]| {
        let node = bcl::NodeId(node.into());
        let options = world.options().node(node).key(key.clone());
        options.device(bcl::Device::Udp)
    };
    for (one, other) in [
        (world.options(), world.options()),
        (over_udp([127, 0, 0, 2]), over_udp([127, 0, 0, 3])),
    ] {
        let (mut one, mut other) = (one.open().unwrap(), other.open().unwrap());
        let window = bcl::DmaBuffer::new(8192).unwrap();
        other.bind(1, window, bcl::Access::ALL).unwrap();
        one.fd().unwrap();
        one.put(other.address(), 1, 0, vec![7u8; 100], 1).unwrap();
        let deadline = Instant::now() + bcl_testing::PATIENCE;
        loop {
            let _ = other.poll(bcl::Which::Any).unwrap();
            match one.poll(bcl::Which::Send).unwrap() {
                Some(bcl::Event::RmaDone { result, .. }) => break assert_eq!(result, Ok(())),
                _ => assert!(Instant::now() < deadline, "the put does not end"),
            }
        }
        one.close().unwrap();
        other.close().unwrap();
    }
    let wrong = WRONG.lock().unwrap();
    assert!(wrong.is_empty(), "descriptors kept: {}", wrong.join("\n\n"));
    // Each kind of thing that is made at all: a socket, a page, a bell, a lock, a set, ...
    assert!(FORKS.load(Ordering::Relaxed) > 40, "{FORKS:?}");
}
