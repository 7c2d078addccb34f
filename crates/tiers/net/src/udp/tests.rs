//! Who gets a socket of its own, and where is looked then; over the loopback interface.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use bcl_proto::{Span, Time};
use bcl_udp::{Buffers, Socket};

use super::lines::{Lines, Place};
use crate::engine::Look;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A port, and peers that have sent to it.
struct World {
    common: Socket,
    lines: Lines,
    peers: Vec<UdpSocket>,
    now: Time,
}

impl World {
    fn new(peers: usize) -> Self {
        let peer = |_| UdpSocket::bind((HERE, 0)).unwrap();
        Self {
            common: Socket::bind(HERE, 0).unwrap(),
            lines: Lines::new().unwrap(),
            peers: (0..peers).map(peer).collect(),
            now: Time(1),
        }
    }

    fn address(&self, peer: usize) -> SocketAddr {
        self.peers[peer].local_addr().unwrap()
    }

    fn send(&self, peer: usize) {
        let here = self.common.local_address();
        self.peers[peer].send_to(&[7; 64], here).unwrap();
    }

    /// One look, and what it has found.
    fn look(&mut self, look: Look) -> Vec<SocketAddr> {
        let first = self.lines.first_place();
        let found = self.look_at(first);
        let others = self.lines.other_places(first, look, found.is_some());
        let others = others.filter_map(|place| self.look_at(place));
        found.into_iter().chain(others).collect()
    }

    fn look_at(&mut self, place: Place) -> Option<SocketAddr> {
        let socket = self.lines.socket(place).unwrap_or(&mut self.common);
        let mut buffers = Buffers::new();
        let received = socket.receive(&mut buffers).unwrap();
        let from = received.map(|received| received.from());
        self.lines.note(place, from);
        from
    }

    /// So many datagrams of each of `peers` in turn, and as many looks as it takes; lines are chosen when it is time.
    fn traffic(&mut self, peers: &[usize], rounds: usize) {
        for _ in 0..rounds {
            for peer in peers {
                self.send(*peer);
                while self.look(Look::WherePacketsCome).is_empty() {}
                if self.lines.are_due() {
                    self.choose();
                }
            }
        }
    }

    fn choose(&mut self) -> Vec<Socket> {
        self.now += Span::from_ms(20);
        self.lines.choose(self.now, &self.common, |_| true)
    }

    fn who_has_lines(&self) -> Vec<usize> {
        let all = 0..self.peers.len();
        all.filter(|peer| self.lines.has(self.address(*peer)))
            .collect()
    }
}

#[test]
fn whoever_sends_most_has_a_line_and_loses_it_to_another() {
    let mut world = World::new(3);
    world.traffic(&[0], 300);
    assert_eq!(world.who_has_lines(), [0]);
    world.traffic(&[0, 1], 300);
    assert_eq!(world.who_has_lines(), [0, 1]);
    world.traffic(&[2], 600);
    assert_eq!(world.who_has_lines(), [2]);
}

/// What it sends comes by the interface program.
#[test]
fn whoever_most_is_sent_to_has_a_line_too() {
    let mut world = World::new(2);
    let [first, second] = [0, 1].map(|peer| world.address(peer));
    for _ in 0..256 {
        assert!(world.lines.send_to(first).is_none());
    }
    assert!(world.lines.are_due());
    world.choose();
    assert_eq!(world.who_has_lines(), [0]);
    for _ in 0..256 {
        let line = world.lines.send_to(first);
        assert!(line.is_some());
    }
    world.choose();
    assert_eq!(world.who_has_lines(), [0]);
    for _ in 0..256 {
        assert!(world.lines.send_to(second).is_none());
    }
    world.choose();
    assert_eq!(world.who_has_lines(), [1]);
}

#[test]
fn among_many_that_send_alike_nobody_has_one() {
    let mut world = World::new(12);
    let all: Vec<_> = (0..12).collect();
    world.traffic(&all, 60);
    assert!(world.who_has_lines().is_empty());
}

#[test]
fn who_is_no_peer_gets_none_however_much_it_sends() {
    let mut world = World::new(1);
    for _ in 0..300 {
        world.send(0);
        world.look(Look::WherePacketsCome);
    }
    world.lines.choose(Time(1), &world.common, |_| false);
    assert!(world.who_has_lines().is_empty());
}

#[test]
fn while_one_sends_others_are_looked_for_less_often_and_still_found() {
    let mut world = World::new(2);
    world.traffic(&[0], 400);
    assert_eq!(world.who_has_lines(), [0]);
    let line_only = |world: &mut World, found| {
        let lines = &mut world.lines;
        let others = lines.other_places(lines.first_place(), Look::WherePacketsCome, found);
        others.count() == 0
    };
    let mut alone = |looks: usize, found| {
        let alone = |_: &usize| line_only(&mut world, found);
        (0..looks).filter(alone).count()
    };
    assert!(alone(8, false) < 8);
    assert_eq!(alone(640, true), 630);
    assert_eq!(alone(80, false), 70);
    world.send(1);
    assert_eq!(world.look(Look::Everywhere), [world.address(1)]);
    assert!(!line_only(&mut world, false), "traffic comes both ways now");
    world.traffic(&[0], 40);
    for _ in 0..100 {
        world.look(Look::WherePacketsCome);
    }
    assert!(!line_only(&mut world, false), "nobody sends");
}

#[test]
fn what_came_to_a_line_that_goes_is_not_lost() {
    let mut world = World::new(2);
    world.traffic(&[0], 300);
    world.traffic(&[1], 100);
    assert_eq!(world.who_has_lines(), [0]);
    world.send(0);
    let mut retired = Vec::new();
    while retired.is_empty() {
        world.send(1);
        world.look(Look::WherePacketsCome);
        retired = world.choose();
    }
    let first = world.address(0);
    let mut buffers = Buffers::new();
    let found = retired[0].receive(&mut buffers).unwrap();
    assert_eq!(found.unwrap().from(), first);
}

#[test]
fn what_comes_to_a_line_wakes_who_sleeps_if_it_has_said_so() {
    let mut world = World::new(1);
    world.traffic(&[0], 300);
    let is_ready = |world: &World| bcl_os::ready::is_readable(world.lines.descriptor());
    world.send(0);
    assert!(!is_ready(&world));
    world.lines.listen();
    assert!(is_ready(&world));
    while world.look(Look::Everywhere).is_empty() {}
    assert!(!is_ready(&world));
    world.lines.stop_listening();
    world.send(0);
    assert!(!is_ready(&world));
}
