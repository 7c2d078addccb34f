//! What this layer costs between two hosts (namespaces joined by veth; as root), beside bare system calls:
//!
//!     cargo run --release -p bcl-udp --example measure
//!
//! The protocol above adds its own cost to each of these.

mod pingpong;
mod stream;

use std::net::IpAddr;

use bcl_netns::Host;
use bcl_udp::Socket;

/// A host and its address.
pub struct Place {
    host: Host,
    address: IpAddr,
}

impl Place {
    /// A socket of this layer there.
    fn bind(&self) -> Socket {
        self.host.within(|| Socket::bind(self.address, 0).unwrap())
    }
}

fn main() {
    let Some((block, [first, second])) = bcl_netns::hosts() else {
        return;
    };
    let [near, far] = [1, 2].map(|host| IpAddr::from(block.v4(0, host)));
    first.join(("eth", near), &second, ("eth", far)).unwrap();
    let [here, there] =
        [(first, near), (second, far)].map(|(host, address)| Place { host, address });
    let set_mtu = |mtu: u32| {
        for place in [&here, &there] {
            place
                .host
                .run(&format!("ip link set eth mtu {mtu}"))
                .unwrap();
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
