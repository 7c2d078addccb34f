//! Fork, at every point at which the library has just made a descriptor: by a hook that only debug builds have.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use bcl_testing::World;

use crate::fork::in_child;

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
