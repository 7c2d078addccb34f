//! Who has which address, and which links lead there.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::HostId;
use super::fate::Fate;

/// Names a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(u32);

impl LinkId {
    pub(super) fn new(index: usize) -> Self {
        Self(index as u32)
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Names a network card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardId(usize);

/// A place with one switch, which is never the bottleneck.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site(pub u32);

/// Keeps some hosts apart from all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Partition {
    /// The hosts on one side.
    pub inside: BTreeSet<HostId>,
    /// Whether what they send still gets out: a partition in one direction.
    pub lets_out: bool,
    /// Whether what is sent to them still gets in.
    pub lets_in: bool,
}

impl Partition {
    fn separates(&self, from: HostId, to: HostId) -> bool {
        match (self.inside.contains(&from), self.inside.contains(&to)) {
            (true, false) => !self.lets_out,
            (false, true) => !self.lets_in,
            _ => false,
        }
    }
}

/// The way of one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    links: [LinkId; 3],
    len: usize,
    host: HostId,
}

impl Route {
    pub(super) fn links(&self) -> &[LinkId] {
        &self.links[..self.len]
    }

    /// Who is at its end.
    pub(super) fn host(&self) -> HostId {
        self.host
    }
}

#[derive(Debug)]
struct Card {
    host: HostId,
    ip: IpAddr,
    site: Site,
    up: LinkId,
    down: LinkId,
}

/// The cards, the trunks and the partition of a network.
#[derive(Debug, Default)]
pub(super) struct Routes {
    cards: Vec<Card>,
    by_ip: BTreeMap<IpAddr, usize>,
    trunks: BTreeMap<(Site, Site), LinkId>,
    partition: Option<Partition>,
}

impl Routes {
    pub(super) fn add_card(
        &mut self,
        host: HostId,
        ip: IpAddr,
        site: Site,
        up: LinkId,
        down: LinkId,
    ) -> CardId {
        let index = self.cards.len();
        self.cards.push(Card {
            host,
            ip,
            site,
            up,
            down,
        });
        self.by_ip.insert(ip, index);
        CardId(index)
    }

    pub(super) fn add_trunk(&mut self, from: Site, to: Site, link: LinkId) {
        self.trunks.insert((from, to), link);
    }

    pub(super) fn links_of(&self, card: CardId) -> [LinkId; 2] {
        let card = &self.cards[card.0];
        [card.up, card.down]
    }

    pub(super) fn uplink(&self, ip: IpAddr) -> Option<LinkId> {
        Some(self.card(ip)?.up)
    }

    pub(super) fn readdress(&mut self, card: CardId, ip: IpAddr) {
        let old = std::mem::replace(&mut self.cards[card.0].ip, ip);
        if self.by_ip.get(&old) == Some(&card.0) {
            self.by_ip.remove(&old);
        }
        self.by_ip.insert(ip, card.0);
    }

    pub(super) fn set_partition(&mut self, partition: Option<Partition>) {
        self.partition = partition;
    }

    /// The way from a process of `host` to whoever has the address `to`.
    pub(super) fn find(&self, host: HostId, from: IpAddr, to: IpAddr) -> Result<Route, Fate> {
        let source = self.card(from).filter(|card| card.host == host);
        let (Some(source), Some(target)) = (source, self.card(to)) else {
            return Err(Fate::NoSuchAddress);
        };
        let cut = self.partition.as_ref();
        if cut.is_some_and(|cut| cut.separates(host, target.host)) {
            return Err(Fate::Partitioned);
        }
        let mut links = [source.up, target.down, target.down];
        let mut len = 2;
        if let Some(&trunk) = self.trunks.get(&(source.site, target.site)) {
            links[1] = trunk;
            len = 3;
        }
        Ok(Route {
            links,
            len,
            host: target.host,
        })
    }

    /// The way of what a process of `host` sends to the switch, to be sent on by that.
    pub(super) fn to_switch(&self, host: HostId, from: IpAddr) -> Result<Route, Fate> {
        let source = self.card(from).filter(|card| card.host == host);
        let source = source.ok_or(Fate::NoSuchAddress)?;
        Ok(Route {
            links: [source.up; 3],
            len: 1,
            host,
        })
    }

    /// The way of a packet that a stranger puts on the last link.
    pub(super) fn last_leg(&self, to: IpAddr) -> Result<Route, Fate> {
        let target = self.card(to).ok_or(Fate::NoSuchAddress)?;
        Ok(Route {
            links: [target.down; 3],
            len: 1,
            host: target.host,
        })
    }

    fn card(&self, ip: IpAddr) -> Option<&Card> {
        self.by_ip.get(&ip).map(|index| &self.cards[*index])
    }
}
