//! Hosts on one machine: network namespaces joined by veth, and a bad network between them.
//!
//! A [`Cluster`] makes them and takes them away again, also those of a test that was killed earlier. [`Faults`] lose,
//! corrupt, duplicate and delay what arrives at a host; the program in `bpf/faults.bpf.c` does it, and a relay in this
//! process holds back what is to come late, because a kernel without netem has nothing else that could.
//!
//! Their addresses are those of a [`bcl_netns::Block`]. All of it needs root, `ip` and `tc`; faults need clang and
//! libbpf's headers too.

mod bpf;
mod cluster;
mod faults;
mod host;
mod injector;
mod object;
mod relay;
mod stale;
mod tap;
mod tool;

use bcl_netns::unless_refused;

pub use cluster::Cluster;
pub use faults::{Faults, Tally};
pub use host::{Host, INTERFACE};
pub use tap::Tap;

/// A cluster for a test, or `None` on a machine where none can be made; the test says then that it checked nothing.
///
/// # Panics
/// When it fails for any other reason than missing rights or a missing program.
pub fn cluster(hosts: usize) -> Option<Cluster> {
    unless_refused(Cluster::new(hosts))
}

/// The same of two joined by a switch, so that faults leave the hosts' interfaces alone.
///
/// # Panics
/// Like [`cluster`].
pub fn switched() -> Option<Cluster> {
    unless_refused(Cluster::switched())
}
