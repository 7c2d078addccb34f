//! Batches and errors over the loopback interface.

mod common;

use std::net::{IpAddr, Ipv6Addr};

use bcl_udp::mtu::largest_datagram_bytes;
use bcl_udp::{Buffers, SendError, Socket, Trouble};
use common::{contents, datagram, exchange, wait};
use proptest::prelude::*;

fn pair(address: &str) -> (Socket, Socket) {
    let address: IpAddr = address.parse().unwrap();
    let bind = || Socket::bind(address, 0).unwrap();
    (bind(), bind())
}

fn numbered(lens: &[usize]) -> Vec<Vec<u8>> {
    let numbers = 0..;
    numbers
        .zip(lens)
        .map(|(number, len)| contents(number, *len))
        .collect()
}

#[test]
fn every_size_class_arrives_with_segments_and_without() {
    for address in ["127.0.0.1", "::1"] {
        for segments in [true, false] {
            let (mut one, mut other) = pair(address);
            if !segments {
                one.send_without_segments();
            }
            let largest = largest_datagram_bytes(65_536, one.local_address().ip());
            for len in [64, 72, 127, 128, 129, 1023, 1472, 8972, largest] {
                let sent = numbered(&[len; 70]);
                assert!(
                    exchange(&mut one, &mut other, &sent) == sent,
                    "{len} B at {address}, {segments}"
                );
            }
        }
    }
}

#[test]
fn segments_are_used_here() {
    let (one, _) = pair("127.0.0.1");
    assert!(
        one.settings().segments && one.settings().coalesces,
        "{:?}",
        one.settings()
    );
}

#[test]
fn a_lone_small_datagram_arrives_after_large_ones() {
    let (mut one, mut other) = pair("127.0.0.1");
    for lens in [
        &[72][..],
        &[1400; 9],
        &[72],
        &[72],
        &[1400, 1400, 70],
        &[64],
    ] {
        let sent = numbered(lens);
        assert!(exchange(&mut one, &mut other, &sent) == sent, "{lens:?}");
    }
}

#[test]
fn a_port_that_nobody_has_is_reported_and_nothing_is_lost() {
    let (mut one, mut other) = pair("127.0.0.1");
    let nobody = Socket::bind([127, 0, 0, 1].into(), 0)
        .unwrap()
        .local_address();
    let sent = numbered(&[72, 72]);
    assert_eq!(one.send(nobody, &[datagram(&sent[0])]).unwrap(), 1);
    // The kernel fails the next call, which is to another peer and must go out.
    assert_eq!(exchange(&mut one, &mut other, &sent), sent);
    assert_eq!(exchange(&mut other, &mut one, &sent), sent);
    assert!(one.has_reports());
    let report = one.next_report().unwrap();
    assert_eq!(
        (report.to, report.trouble),
        (nobody, Trouble::PortUnreachable)
    );
    assert_eq!((report.by, report.returned), (Some(nobody.ip()), None));
    assert_eq!(one.next_report(), None);
}

#[test]
fn a_header_that_nobody_takes_comes_back() {
    for here in [IpAddr::from([127, 0, 0, 1]), Ipv6Addr::LOCALHOST.into()] {
        let mut one = Socket::bind(here, 0).unwrap();
        let nobody = Socket::bind(here, 0).unwrap().local_address();
        for len in [64, 65] {
            let sent = contents(1, len);
            one.send(nobody, &[datagram(&sent)]).unwrap();
            let report = one.next_report().unwrap();
            let returned = (len == 64).then_some(sent.as_slice());
            assert_eq!(report.returned.as_ref().map(<[u8; _]>::as_slice), returned);
        }
    }
}

#[test]
fn a_receiver_is_told_too_and_loses_nothing() {
    let (mut one, mut other) = pair("127.0.0.1");
    let nobody = Socket::bind([127, 0, 0, 1].into(), 0)
        .unwrap()
        .local_address();
    let sent = contents(1, 72);
    other.send(one.local_address(), &[datagram(&sent)]).unwrap();
    one.send(nobody, &[datagram(&sent)]).unwrap();
    assert!(wait(&one));
    let mut buffers = Buffers::new();
    let received: Vec<_> = one.receive(&mut buffers).unwrap().unwrap().collect();
    assert_eq!(received, [&sent[..]]);
    assert!(one.next_report().is_some());
}

/// Nobody who speaks our protocol has sent it, but it shall be counted with the others that mean nothing.
#[test]
fn an_empty_datagram_is_one() {
    let (mut one, mut other) = pair("127.0.0.1");
    let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.send_to(&[], other.local_address()).unwrap();
    let mut buffers = Buffers::new();
    assert!(wait(&other));
    let mut received = other.receive(&mut buffers).unwrap().unwrap();
    assert_eq!(received.len(), 1);
    assert_eq!(received.next().map(|datagram| datagram.len()), Some(0));
    assert!(received.next().is_none());
    let sent = numbered(&[72]);
    assert_eq!(exchange(&mut one, &mut other, &sent), sent);
}

#[test]
fn a_full_buffer_leaves_the_rest_with_the_caller() {
    let (mut one, other) = pair("127.0.0.1");
    rustix::net::sockopt::set_socket_send_buffer_size(&one, 5000).unwrap();
    let sent = numbered(&[60_000; 64]);
    let batch: Vec<_> = sent.iter().map(|bytes| datagram(bytes)).collect();
    // Nobody receives, so that what is sent stays charged to the sender until the receiver's buffer drops it.
    let mut gone = 0;
    for _ in 0..batch.len() {
        match one.send(other.local_address(), &batch[gone..]) {
            Ok(count) => gone += count,
            Err(SendError::Full { to }) => {
                assert_eq!(to, other.local_address());
                return;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_sent_as_a_batch_is_received_as_the_same_datagrams(
        lens in prop::collection::vec(
            prop_oneof![64..140_usize, Just(1472), 64..3000_usize],
            1..100
        ),
        repeats in 1..4_usize,
        segments: bool,
    ) {
        let lens: Vec<usize> = lens.into_iter().flat_map(|len| vec![len; repeats]).collect();
        let (mut one, mut other) = pair("127.0.0.1");
        if !segments {
            one.send_without_segments();
        }
        let sent = numbered(&lens);
        prop_assert_eq!(exchange(&mut one, &mut other, &sent), sent);
    }
}
