//! What befalls packets.

use bcl_proto::Path;
use bcl_sim::net::{Datagram, Faults, HostId, LinkSpec, Partition, Rate};
use bcl_sim::port::first_address;

use super::World;

/// Where the port of a host is.
pub fn path(host: usize) -> Path {
    Path {
        to: first_address(host),
        rail: 0,
    }
}

/// Packets that are lost, doubled, damaged or overtaken: so many of a thousand, of each.
pub fn faults(per_mille: u32) -> Faults {
    let rate = Rate::per_million(1_000 * per_mille);
    Faults {
        truncate: Rate::NEVER,
        jitter_ns: 0,
        ..Faults::all(rate, 100_000)
    }
}

impl World {
    /// What befalls the packets of all hosts from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.change_links(|_, link| link.with_faults(faults));
    }

    /// The longest datagrams that the paths take, by sender; longer ones vanish.
    pub fn set_paths(&mut self, longest_bytes: [usize; 2]) {
        self.change_links(|host, link| LinkSpec {
            longest_bytes: longest_bytes[host],
            ..link
        });
    }

    /// Whether paths cut what is longer, if it may be cut.
    pub fn set_cutting(&mut self, cuts: bool) {
        self.change_links(|_, link| LinkSpec { cuts, ..link });
    }

    /// From now on a bit is under way for so long.
    pub fn set_propagation(&mut self, propagation_ns: u64) {
        self.change_links(|_, link| LinkSpec {
            propagation_ns,
            ..link
        });
    }

    fn change_links(&mut self, change: impl Fn(usize, LinkSpec) -> LinkSpec) {
        for (host, card) in self.cards.iter().enumerate() {
            let [up, _] = self.net.links_of(*card);
            self.net.set_link(up, change(host, self.net.link(up)));
        }
    }

    /// Pulls the cable of a host: what it sends and is sent is lost, and what is under way to it.
    pub fn cut(&mut self, host: usize) {
        self.cut.insert(HostId(host));
        self.set_up(host, false);
    }

    /// Plugs it again.
    pub fn mend(&mut self, host: usize) {
        self.cut.remove(&HostId(host));
        self.set_up(host, true);
    }

    fn set_up(&mut self, host: usize, is_up: bool) {
        for link in self.net.links_of(self.cards[host]) {
            self.net.set_up(link, is_up);
        }
        self.net.set_partition(Some(Partition {
            inside: self.cut.clone(),
            ..Partition::default()
        }));
    }

    /// From now on all that is sent is kept.
    pub fn record(&mut self) {
        self.net.record(usize::MAX);
    }

    /// What was sent since, and is kept no longer.
    pub fn recorded(&mut self) -> Vec<Datagram> {
        let recorded = self.net.recorded().to_vec();
        self.net.record(0);
        recorded
    }

    /// Somebody plays back, or makes up, a packet of one host to another, which has it at once.
    pub fn inject(&mut self, from: usize, to: usize, bytes: Vec<u8>) {
        let datagram = Datagram::new(first_address(from), first_address(to), bytes);
        self.net.inject(self.now.0, datagram);
    }
}
