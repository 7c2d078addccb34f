//! A socket for one peer beside the one for everybody.

mod common;

use std::net::{IpAddr, SocketAddr, UdpSocket};

use bcl_udp::{Buffers, Socket, Trouble};
use common::{contents, datagram, wait};
use rustix::net::sockopt::set_socket_reuseport;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn bind() -> Socket {
    Socket::bind(HERE, 0).unwrap()
}

fn send(from: &mut Socket, to: SocketAddr, number: u32) {
    let bytes = contents(number, 100);
    assert_eq!(from.send(to, &[datagram(&bytes)]).unwrap(), 1);
}

/// Numbers of all that lies in a socket's queue, with who has sent them.
fn numbers(of: &mut Socket) -> Vec<(u32, SocketAddr)> {
    let mut buffers = Buffers::new();
    let mut numbers = Vec::new();
    while let Some(received) = of.receive(&mut buffers).unwrap() {
        let from = received.from();
        for bytes in received {
            let number = bytes[4..8].try_into().map(u32::from_le_bytes).unwrap();
            numbers.push((number, from));
        }
    }
    numbers
}

#[test]
fn a_peer_that_has_a_socket_of_its_own_is_received_by_it_and_others_are_not() {
    let (mut common, mut one, mut other) = (bind(), bind(), bind());
    let here = common.local_address();
    let [first, second] = [one.local_address(), other.local_address()];
    send(&mut one, here, 1);
    let mut line = Socket::connect_beside([&common].into_iter(), first).unwrap();
    assert_eq!(line.local_address(), here);
    send(&mut one, here, 2);
    send(&mut other, here, 3);
    send(&mut one, here, 4);
    assert_eq!(numbers(&mut line), [(2, first), (4, first)]);
    assert_eq!(numbers(&mut common), [(1, first), (3, second)]);

    // With its queue once empty it asks no longer who has sent what.
    send(&mut one, here, 5);
    send(&mut other, here, 6);
    assert_eq!(numbers(&mut line), [(5, first)]);
    assert_eq!(numbers(&mut common), [(6, second)]);
    for number in 0..10 {
        send(&mut line, first, number);
    }
    let sent: Vec<_> = (0..10).map(|number| (number, here)).collect();
    assert_eq!(numbers(&mut one), sent);

    // A second beside both, and then the first goes.
    let mut second_line = Socket::connect_beside([&common, &line].into_iter(), second).unwrap();
    send(&mut one, here, 7);
    send(&mut other, here, 8);
    line.retire();
    send(&mut one, here, 9);
    assert_eq!(numbers(&mut line), [(7, first)]);
    assert_eq!(numbers(&mut second_line), [(8, second)]);
    assert_eq!(numbers(&mut common), [(9, first)]);
    drop(line);
    send(&mut one, here, 10);
    assert_eq!(numbers(&mut common), [(10, first)]);
}

#[test]
fn batches_go_by_it_as_by_any_other() {
    let (common, mut peer) = (bind(), bind());
    let at_port = [&common].into_iter();
    let mut line = Socket::connect_beside(at_port, peer.local_address()).unwrap();
    for len_bytes in [64, 300, 1472, 9000] {
        let sent: Vec<_> = (0..200).map(|number| contents(number, len_bytes)).collect();
        assert!(common::exchange(&mut line, &mut peer, &sent) == sent);
        assert!(common::exchange(&mut peer, &mut line, &sent) == sent);
    }
}

#[test]
fn nobody_else_gets_at_the_port_by_it() {
    let (common, peer) = (bind(), bind());
    let here = common.local_address();
    let _line = Socket::connect_beside([&common].into_iter(), peer.local_address()).unwrap();
    assert!(Socket::is_taken(HERE, here.port()));
    let fd = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )
    .unwrap();
    set_socket_reuseport(&fd, true).unwrap();
    assert!(rustix::net::bind(&fd, &here).is_err(), "not shared");
}

#[test]
fn it_says_that_nobody_listens_at_its_peer() {
    let common = bind();
    let gone = UdpSocket::bind((HERE, 0)).unwrap();
    let peer = gone.local_addr().unwrap();
    let mut line = Socket::connect_beside([&common].into_iter(), peer).unwrap();
    drop(gone);
    send(&mut line, peer, 1);
    assert!(wait(&line));
    let report = line.next_report().unwrap();
    assert_eq!(
        (report.to, report.trouble),
        (peer, Trouble::PortUnreachable)
    );
    assert!(numbers(&mut line).is_empty());
}

#[test]
fn there_is_none_to_an_address_of_another_family() {
    let common = bind();
    let peer: SocketAddr = "[::1]:20001".parse().unwrap();
    assert!(Socket::connect_beside([&common].into_iter(), peer).is_err());
    assert!(Socket::connect_beside(std::iter::empty(), peer).is_err());
    assert!(Socket::is_taken(HERE, common.local_address().port()));
}
