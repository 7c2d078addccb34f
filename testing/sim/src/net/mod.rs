//! The simulated network: hosts at the ends of links, in virtual time.
//!
//! A host has one or more network cards. A card has an IP address, an uplink and a downlink to the switch of its
//! site; sites are joined by trunks, which many share. So a datagram takes two or three links, each with its own
//! queue and its own faults:
//!
//! ```text
//!   host ── uplink ──▶ site ══ trunk ══▶ site ── downlink ──▶ socket of the host ──▶ process
//! ```
//!
//! Read [`Network`], then `link` and `faults` (what happens on the way) and `host` (what happens at its end).
//! Whoever drives the network asks [`Network::next_ns`] and calls [`Network::step`]; nothing happens by itself.

mod fate;
mod faults;
mod host;
mod link;
mod record;
mod routes;

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use bcl_types::Random;

use crate::Schedule;

pub use fate::{Counters, Fate};
pub use faults::{Bursts, Faults, Rate};
pub use host::{Datagram, HostSpec, Life};
pub use link::LinkSpec;
pub use routes::{CardId, LinkId, Partition, Site};

use host::Host;
use link::Link;
use record::Record;
use routes::{Route, Routes};

/// Names a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub usize);

/// Sees each fate of each packet, for a time line.
pub type Observer = Box<dyn FnMut(u64, Fate, &Datagram)>;

/// A network of hosts.
pub struct Network {
    schedule: Schedule<Step>,
    hosts: Vec<Host>,
    links: Vec<Link>,
    routes: Routes,
    random: Random,
    counters: Counters,
    record: Record,
    observer: Option<Observer>,
}

/// Something that the network has to do at some time.
enum Step {
    /// A packet has come to the next link of its route.
    Hop(Box<Packet>),
    /// A process has time to look into its socket.
    Look(HostId),
}

/// Whom the network hands a datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handed {
    /// A process, which has taken it out of its socket.
    Process(HostId, Datagram),
    /// A host whose datagrams are looked at before they go to a socket: see [`Network::receive`].
    Host(HostId, Datagram),
}

struct Packet {
    datagram: Datagram,
    route: Route,
    hops_done: usize,
    /// The switch sends it on to all these.
    then: Option<Rc<[SocketAddr]>>,
}

impl Network {
    /// No hosts yet.
    pub fn new(mut random: Random) -> Self {
        Self {
            schedule: Schedule::new(),
            hosts: Vec::new(),
            links: Vec::new(),
            routes: Routes::default(),
            record: Record::new(0, random.fork()),
            random,
            counters: Counters::default(),
            observer: None,
        }
    }

    /// Adds a host, as yet without a network card.
    pub fn add_host(&mut self, spec: HostSpec) -> HostId {
        self.hosts.push(Host::new(spec));
        HostId(self.hosts.len() - 1)
    }

    /// Adds a network card with its two links to `host`.
    pub fn add_card(
        &mut self,
        host: HostId,
        ip: IpAddr,
        site: Site,
        up: LinkSpec,
        down: LinkSpec,
    ) -> CardId {
        let (up, down) = (self.add_link(up), self.add_link(down));
        self.routes.add_card(host, ip, site, up, down)
    }

    /// Joins two sites in one direction.
    pub fn add_trunk(&mut self, from: Site, to: Site, spec: LinkSpec) -> LinkId {
        let link = self.add_link(spec);
        self.routes.add_trunk(from, to, link);
        link
    }

    /// Everybody of this network keeps up to `most` packets, to be played back by [`recorded`](Self::recorded).
    pub fn record(&mut self, most: usize) {
        self.record.resize(most);
    }

    /// A fair sample of all that was sent so far.
    pub fn recorded(&self) -> &[Datagram] {
        self.record.kept()
    }

    /// From now on `observer` sees everything.
    pub fn observe(&mut self, observer: Observer) {
        self.observer = Some(observer);
    }

    /// What happened so far, in numbers.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// A process of `host` sends a datagram. The kernel lets nobody send with an address that is not his.
    pub fn send(&mut self, now_ns: u64, host: HostId, datagram: Datagram) {
        self.record.hear(&datagram);
        self.note(now_ns, Fate::Sent, &datagram);
        let (from, to) = (datagram.from.ip(), datagram.to.ip());
        match self.routes.find(host, from, to) {
            Ok(route) => self.hop(now_ns, Box::new(Packet::at_start(datagram, route))),
            Err(fate) => self.note(now_ns, fate, &datagram),
        }
    }

    /// A process of `host` sends a datagram to a multicast group, which these have joined: it goes over the uplink once.
    pub fn send_to_group(
        &mut self,
        now_ns: u64,
        host: HostId,
        datagram: Datagram,
        hearers: Rc<[SocketAddr]>,
    ) {
        self.note(now_ns, Fate::Sent, &datagram);
        match self.routes.to_switch(host, datagram.from.ip()) {
            Ok(route) => {
                let then = Some(hearers);
                let packet = Packet {
                    then,
                    ..Packet::at_start(datagram, route)
                };
                self.hop(now_ns, Box::new(packet));
            }
            Err(fate) => self.note(now_ns, fate, &datagram),
        }
    }

    /// A stranger sends a datagram under whatever name he likes.
    pub fn inject(&mut self, now_ns: u64, datagram: Datagram) {
        self.note(now_ns, Fate::Injected, &datagram);
        match self.routes.last_leg(datagram.to.ip()) {
            Ok(route) => self.hop(now_ns, Box::new(Packet::at_start(datagram, route))),
            Err(fate) => self.note(now_ns, fate, &datagram),
        }
    }

    /// When the uplink that serves `from` has at most `backlog_bytes` before it: a kernel lets a process that sends
    /// faster than its card wait there.
    pub fn may_send_at_ns(&self, from: IpAddr, backlog_bytes: u64) -> u64 {
        self.routes.uplink(from).map_or(0, |link| {
            self.links[link.index()].drained_to_ns(backlog_bytes)
        })
    }

    /// When the network has something to do.
    pub fn next_ns(&self) -> Option<u64> {
        self.schedule.next_ns()
    }

    /// Does the next thing; tells if that handed a datagram to somebody.
    pub fn step(&mut self) -> Option<Handed> {
        match self.schedule.take()? {
            (now_ns, Step::Hop(packet)) => {
                let host = packet.route.host();
                let state = &self.hosts[host.0];
                if state.is_watched && state.life != Life::Dead && packet.is_there() {
                    return Some(Handed::Host(host, packet.datagram));
                }
                self.hop(now_ns, packet);
                None
            }
            (now_ns, Step::Look(host)) => self.look(now_ns, host),
        }
    }

    /// From now on datagrams that come to `host` are handed out by [`step`](Self::step) before they go to its socket.
    pub fn watch(&mut self, host: HostId) {
        self.hosts[host.0].is_watched = true;
    }

    /// Whether the process of `host` runs.
    pub fn life(&self, host: HostId) -> Life {
        self.hosts[host.0].life
    }

    /// Stops, continues, ends or begins the process of `host`. A new process begins with an empty socket.
    pub fn set_life(&mut self, now_ns: u64, host: HostId, life: Life) {
        let was = std::mem::replace(&mut self.hosts[host.0].life, life);
        if was == Life::Dead || life == Life::Dead {
            while let Some(datagram) = self.hosts[host.0].take() {
                self.note(now_ns, Fate::NoProcess, &datagram);
            }
        }
        self.plan_look(now_ns, host);
    }

    /// Makes `host` faster or slower.
    pub fn set_host(&mut self, host: HostId, spec: HostSpec) {
        self.hosts[host.0].spec = spec;
    }

    /// What `link` can do.
    pub fn link(&self, link: LinkId) -> LinkSpec {
        self.links[link.index()].spec
    }

    /// Changes what `link` can do.
    pub fn set_link(&mut self, link: LinkId, spec: LinkSpec) {
        self.links[link.index()].spec = spec;
    }

    /// Pulls or plugs the cable of `link`.
    pub fn set_up(&mut self, link: LinkId, is_up: bool) {
        self.links[link.index()].is_up = is_up;
    }

    /// The uplink and the downlink of `card`.
    pub fn links_of(&self, card: CardId) -> [LinkId; 2] {
        self.routes.links_of(card)
    }

    /// Gives `card` another address; nobody has the old one any more.
    pub fn readdress(&mut self, card: CardId, ip: IpAddr) {
        self.routes.readdress(card, ip);
    }

    /// Puts `partition` in the place of the one that was there.
    pub fn set_partition(&mut self, partition: Option<Partition>) {
        self.routes.set_partition(partition);
    }

    fn add_link(&mut self, spec: LinkSpec) -> LinkId {
        self.links.push(Link::new(spec));
        LinkId::new(self.links.len() - 1)
    }

    /// Takes a packet over the next link of its route, or to the socket at the end of it.
    fn hop(&mut self, now_ns: u64, mut packet: Box<Packet>) {
        let Some(&link) = packet.route.links().get(packet.hops_done) else {
            return self.arrive(now_ns, *packet);
        };
        packet.hops_done += 1;
        let link = &mut self.links[link.index()];
        let arrival_ns = match link.carry(now_ns, &packet.datagram, &mut self.random) {
            Ok(arrival_ns) => arrival_ns,
            Err(fate) => return self.note(now_ns, fate, &packet.datagram),
        };
        let copy = link
            .spec
            .faults
            .duplicate
            .strikes(&mut self.random)
            .then(|| {
                // The copy comes a little later, and undamaged.
                (arrival_ns + self.random.below(50_000), packet.copy())
            });
        let damage = link.damage(&mut packet.datagram.bytes, &mut self.random);
        let held_to_ns = link.holds_back(arrival_ns, &mut self.random);
        if let Some((copy_arrival_ns, copy)) = copy {
            self.note(now_ns, Fate::Duplicated, &copy.datagram);
            self.schedule.add(copy_arrival_ns, Step::Hop(copy));
        }
        if let Some(fate) = damage {
            self.note(now_ns, fate, &packet.datagram);
        }
        if held_to_ns.is_some() {
            self.note(now_ns, Fate::Reordered, &packet.datagram);
        }
        self.schedule
            .add(held_to_ns.unwrap_or(arrival_ns), Step::Hop(packet));
    }

    /// A packet has come to the card of a host, or to a switch that sends it on to many.
    fn arrive(&mut self, now_ns: u64, packet: Packet) {
        let (from, host) = (packet.datagram.from.ip(), packet.route.host());
        let Some(hearers) = &packet.then else {
            return self.receive(now_ns, host, packet.datagram);
        };
        for to in hearers.iter() {
            let to = *to;
            let datagram = Datagram {
                to,
                ..packet.datagram.clone()
            };
            match self.routes.find(host, from, to.ip()) {
                Ok(route) => {
                    let hops_done = packet.hops_done;
                    let packet = Packet {
                        hops_done,
                        ..Packet::at_start(datagram, route)
                    };
                    self.hop(now_ns, Box::new(packet));
                }
                Err(fate) => self.note(now_ns, fate, &datagram),
            }
        }
    }

    /// A datagram goes to the socket of a host.
    pub fn receive(&mut self, now_ns: u64, host: HostId, datagram: Datagram) {
        if self.hosts[host.0].life == Life::Dead {
            return self.note(now_ns, Fate::NoProcess, &datagram);
        }
        match self.hosts[host.0].receive(datagram) {
            Ok(()) => self.plan_look(now_ns, host),
            Err(datagram) => self.note(now_ns, Fate::InboxFull, &datagram),
        }
    }

    /// Sees to it that a process that runs and has datagrams looks at them.
    fn plan_look(&mut self, now_ns: u64, id: HostId) {
        let host = &mut self.hosts[id.0];
        if host.life == Life::Running && host.has_datagrams() && !host.will_look {
            host.will_look = true;
            self.schedule
                .add(host.busy_until_ns.max(now_ns), Step::Look(id));
        }
    }

    fn look(&mut self, now_ns: u64, id: HostId) -> Option<Handed> {
        let host = &mut self.hosts[id.0];
        host.will_look = false;
        if host.life != Life::Running {
            return None;
        }
        let datagram = host.take()?;
        host.busy_until_ns = now_ns + host.spec.per_datagram_ns;
        self.plan_look(now_ns, id);
        self.note(now_ns, Fate::Delivered, &datagram);
        Some(Handed::Process(id, datagram))
    }

    fn note(&mut self, now_ns: u64, fate: Fate, datagram: &Datagram) {
        self.counters.count(fate);
        if let Some(observer) = &mut self.observer {
            observer(now_ns, fate, datagram);
        }
    }
}

impl Packet {
    fn at_start(datagram: Datagram, route: Route) -> Self {
        Self {
            datagram,
            route,
            hops_done: 0,
            then: None,
        }
    }

    /// Whether it has passed all its links, to a host.
    fn is_there(&self) -> bool {
        self.then.is_none() && self.hops_done >= self.route.links().len()
    }

    fn copy(&self) -> Box<Self> {
        Box::new(Self {
            datagram: self.datagram.clone(),
            route: self.route,
            hops_done: self.hops_done,
            then: self.then.clone(),
        })
    }
}
