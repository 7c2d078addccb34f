//! What this layer costs between two hosts (namespaces joined by veth; as root), beside bare system calls:
//!
//!     cargo run --release -p bcl-udp --example measure
//!
//! The protocol above adds its own cost to each of these.

#[path = "../../tests/common/netns.rs"]
mod netns;
mod pingpong;
mod stream;

use netns::Host;

const HERE: &str = "10.0.0.1";
const THERE: &str = "10.0.0.2";

fn main() {
    let (Some(here), Some(there)) = (Host::new(), Host::new()) else {
        return;
    };
    here.join(("eth", "10.0.0.1/24"), &there, ("eth", "10.0.0.2/24"));
    let set_mtu = |mtu: u32| {
        for host in [&here, &there] {
            host.run(&format!("ip link set eth mtu {mtu}"));
        }
    };
    set_mtu(1500);
    // In turn, since a machine is not the same from minute to minute.
    for round in 1..=3 {
        println!("round {round}");
        let bare_8 = pingpong::bare(&here, &there, 8);
        println!("  one way, bare send and recv, 8 B:      {bare_8:6.0} ns");
        let bare_72 = pingpong::bare(&here, &there, 72);
        println!("  one way, bare send and recv, 72 B:     {bare_72:6.0} ns");
        let ours = pingpong::ours(&here, &there);
        println!(
            "  one way, this layer, 64 B and 8 B:     {ours:6.0} ns, {:.2} x bare 8 B",
            ours / bare_8
        );
        for mtu in [1500, 9000] {
            set_mtu(mtu);
            for segments in [true, false] {
                let gigabytes = stream::run(&here, &there, mtu, segments);
                let how = if segments {
                    "segments"
                } else {
                    "sendmmsg only"
                };
                println!("  stream of 1 MiB, MTU {mtu}, {how}: {gigabytes:.2} GB/s");
            }
        }
        set_mtu(1500);
    }
}

/// Puts the calling thread on one core.
fn pin(core: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    rustix::thread::sched_setaffinity(None, &set).unwrap();
}
