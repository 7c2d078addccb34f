//! Which way packets take: from a log's host to the first hosts after it, and from each of them to further ones; back from those to it
//! ([REFLECT-9.2]).

use std::net::SocketAddr;

use crate::mirror::Mirror;
use crate::names::HostId;

impl Mirror {
    /// Others have come or gone.
    pub(crate) fn hosts_changed(&mut self) {
        let others = self.peers.keys().copied();
        self.hosts = others.chain([self.config.host]).collect();
        self.hosts.sort_unstable();
        self.unsaved.hosts();
        self.choose_way();
        self.probe_soon();
    }

    /// Who gets packets of a host's logs from this one.
    pub(crate) fn children(&self, root: HostId) -> impl Iterator<Item = HostId> + '_ {
        let (root, place) = self.places_in_tree(root);
        let fan_out = self.config.fan_out;
        let first = place * fan_out + 1;
        (first..first + fan_out)
            .take_while(|place| *place < self.hosts.len())
            .map(move |place| self.host_at(root, place))
    }

    /// Who gets packets of a host's logs by way of this one: its children, then theirs, and so on.
    pub(crate) fn below(&self, root: HostId) -> impl Iterator<Item = HostId> + '_ {
        let (root, place) = self.places_in_tree(root);
        let fan_out = self.config.fan_out;
        let further = move |(first, last): &(usize, usize)| {
            Some((first * fan_out + 1, last * fan_out + fan_out))
        };
        let number = self.hosts.len();
        std::iter::successors(further(&(place, place)), further)
            .take_while(move |(first, _)| *first < number)
            .flat_map(move |(first, last)| first..number.min(last + 1))
            .map(move |place| self.host_at(root, place))
    }

    pub(crate) fn addresses_of_children(
        &self,
        root: HostId,
    ) -> impl Iterator<Item = SocketAddr> + '_ {
        let children = self.children(root);
        let children = children.filter_map(|host| self.peers.get(&host));
        children.map(|peer| peer.address)
    }

    pub(crate) fn has_children(&self, root: HostId) -> bool {
        let (_, place) = self.places_in_tree(root);
        place * self.config.fan_out + 1 < self.hosts.len()
    }

    /// Who is told how far this host has come in a host's logs.
    pub(crate) fn parent(&self, root: HostId) -> HostId {
        let (root, place) = self.places_in_tree(root);
        let parent = place.saturating_sub(1) / self.config.fan_out;
        self.host_at(root, parent)
    }

    /// Who is so far after the root.
    fn host_at(&self, root: usize, place: usize) -> HostId {
        self.hosts[(place + root) % self.hosts.len()]
    }

    /// Where the root stands in the order of all hosts, and how far after it this one. As a root that is not known stands the next.
    fn places_in_tree(&self, root: HostId) -> (usize, usize) {
        let number = self.hosts.len();
        let of = |host: HostId| self.hosts.partition_point(|other| *other < host) % number;
        let root = of(root);
        (root, (of(self.config.host) + number - root) % number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{Config, Geometry};
    use crate::peer::Peer;
    use bcl_types::{Span, Time};

    fn mirror(host: u64, hosts: u64, fan_out: usize) -> Mirror {
        let geometry = Geometry {
            members: 1,
            region_bytes: 64,
            log_bytes: 4096,
        };
        let config = Config {
            host: HostId(host),
            geometry,
            secret: [1; 32],
            places: Vec::new(),
            group: None,
            payload_bytes: 1408,
            fan_out,
            patience: Span::from_ms(1),
            seed: 1,
        };
        let mut mirror = Mirror::new(config, Time(0));
        for other in (1..=hosts).filter(|other| *other != host) {
            let peer = Peer::new("127.0.0.1:1".parse().unwrap(), Time(0), 1);
            mirror.peers.insert(HostId(other), peer);
        }
        mirror.hosts_changed();
        mirror
    }

    #[test]
    fn each_host_has_one_parent_whose_child_it_is_whoever_is_the_root() {
        for (hosts, fan_out) in [(1, 2), (2, 2), (7, 2), (23, 3), (17, 16), (40, 16)] {
            let all: Vec<Mirror> = (1..=hosts)
                .map(|host| mirror(host, hosts, fan_out))
                .collect();
            for root in (1..=hosts).map(HostId) {
                for child in all.iter().filter(|mirror| mirror.config.host != root) {
                    let host = child.config.host;
                    let parents = all
                        .iter()
                        .filter(|mirror| mirror.children(root).any(|of| of == host));
                    let parents: Vec<HostId> = parents.map(|mirror| mirror.config.host).collect();
                    assert_eq!(parents, [child.parent(root)]);
                }
            }
            let children = all.iter().map(|mirror| mirror.children(HostId(1)).count());
            assert_eq!(children.sum::<usize>() as u64, hosts - 1);
        }
    }

    #[test]
    fn below_a_host_are_its_children_and_all_below_them() {
        for (hosts, fan_out) in [(1, 2), (5, 1), (23, 3), (40, 16), (300, 16)] {
            let all: Vec<Mirror> = (1..=hosts)
                .map(|host| mirror(host, hosts, fan_out))
                .collect();
            let root = HostId(hosts.div_ceil(2));
            for mirror in &all {
                let mut below: Vec<HostId> = mirror.below(root).collect();
                let children: Vec<HostId> = mirror.children(root).collect();
                assert!(below.starts_with(&children));
                let of_children = children
                    .iter()
                    .flat_map(|child| all[child.0 as usize - 1].below(root));
                let mut expected: Vec<HostId> =
                    children.iter().copied().chain(of_children).collect();
                below.sort_unstable();
                expected.sort_unstable();
                assert_eq!(below, expected);
            }
            assert_eq!(
                all[root.0 as usize - 1].below(root).count() as u64,
                hosts - 1
            );
        }
    }
}
