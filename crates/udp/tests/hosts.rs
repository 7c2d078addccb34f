//! Between hosts: namespaces joined by veth. Without root nothing is checked.

mod common;

use std::net::{IpAddr, SocketAddr};

use bcl_udp::mtu::{kernel_mtu, largest_datagram_bytes};
use bcl_udp::route::{RouteError, route_to};
use bcl_udp::{Report, SendError, Socket, Trouble};
use common::netns::Host;
use common::{contents, datagram, exchange, meet, wait};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn two_hosts(one: &str, other: &str) -> Option<(Host, Host)> {
    let (a, b) = (Host::new()?, Host::new()?);
    a.join(("eth", one), &b, ("eth", other));
    Some((a, b))
}

fn bind(host: &Host, address: &str) -> Socket {
    host.within(|| Socket::bind(ip(address), 0).unwrap())
}

#[test]
fn streams_arrive_at_every_mtu() {
    for (net, one, other, mtus) in [
        (
            "10.0.0.1/24 10.0.0.2/24",
            "10.0.0.1",
            "10.0.0.2",
            [600, 1500, 9000],
        ),
        (
            "fd00::1/64 fd00::2/64",
            "fd00::1",
            "fd00::2",
            [1280, 1500, 9000],
        ),
    ] {
        let (first, second) = net.split_once(' ').unwrap();
        let Some((a, b)) = two_hosts(first, second) else {
            return;
        };
        for mtu in mtus {
            a.run(&format!("ip link set eth mtu {mtu}"));
            b.run(&format!("ip link set eth mtu {mtu}"));
            let (mut from, mut to) = (bind(&a, one), bind(&b, other));
            meet(&mut from, &mut to);
            let len = largest_datagram_bytes(mtu, ip(one));
            let sent: Vec<_> = (0..200).map(|number| contents(number, len)).collect();
            assert!(exchange(&mut from, &mut to, &sent) == sent, "mtu {mtu}");
        }
    }
}

#[test]
fn an_interface_that_takes_less_is_noticed_at_once() {
    let Some((a, b)) = two_hosts("10.0.0.1/24", "10.0.0.2/24") else {
        return;
    };
    let (mut from, to) = (bind(&a, "10.0.0.1"), bind(&b, "10.0.0.2").local_address());
    let large = contents(0, 1472);
    for batch in [&[datagram(&large)][..], &[datagram(&large); 3]] {
        a.run("ip link set eth mtu 1500");
        assert_eq!(from.send(to, batch).unwrap(), batch.len());
        a.run("ip link set eth mtu 1000");
        let error = from.send(to, batch).unwrap_err();
        assert!(
            matches!(
                error,
                SendError::TooLarge {
                    datagram_bytes: 1472,
                    ..
                }
            ),
            "{error}"
        );
    }
    assert_eq!(
        a.within(|| kernel_mtu(ip("10.0.0.1"), ip("10.0.0.2")))
            .unwrap(),
        1000
    );
    let small = contents(0, 972);
    assert_eq!(from.send(to, &[datagram(&small); 3]).unwrap(), 3);
}

/// A veth lets nothing in that is too long for its other end, and tells so as if a queue were full. Who waits for that
/// queue waits for ever.
#[test]
fn what_the_other_end_lets_not_in_holds_up_nothing_else() {
    let Some((a, b)) = two_hosts("10.0.0.1/24", "10.0.0.2/24") else {
        return;
    };
    let (mut from, mut to) = (bind(&a, "10.0.0.1"), bind(&b, "10.0.0.2"));
    a.run("ip link set eth mtu 9000");
    b.run("ip link set eth mtu 1400");
    let (large, small) = (contents(0, 5000), contents(1, 1000));
    let mut gone = 0;
    for _ in 0..100 {
        match from.send(to.local_address(), &[datagram(&large)]) {
            Ok(_) => gone += 1,
            Err(SendError::Full { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(gone >= 10, "{gone}");
    assert!(exchange(&mut from, &mut to, std::slice::from_ref(&small)) == [small]);
}

/// Sends until the network has said something of it: neighbours are asked first, which takes its time.
fn first_report(from: &mut Socket, to: SocketAddr, bytes: &[u8]) -> Report {
    for _ in 0..10 {
        from.send(to, &[datagram(bytes)]).unwrap();
        if wait(from) {
            if let Some(report) = from.next_report() {
                return report;
            }
        }
    }
    panic!("no report");
}

#[test]
fn a_router_tells_of_its_narrower_link() {
    let (Some(a), Some(router), Some(b)) = (Host::new(), Host::new(), Host::new()) else {
        return;
    };
    a.join(("eth", "10.0.1.1/24"), &router, ("left", "10.0.1.9/24"));
    router.join(("right", "10.0.2.9/24"), &b, ("eth", "10.0.2.1/24"));
    let forwarding = "/proc/sys/net/ipv4/ip_forward";
    router.within(|| std::fs::write(forwarding, "1")).unwrap();
    router.run("ip link set right mtu 1300");
    a.run("ip route add default via 10.0.1.9");
    b.run("ip route add default via 10.0.2.9");
    let (mut from, mut to) = (bind(&a, "10.0.1.1"), bind(&b, "10.0.2.1"));
    let large = contents(0, 1472);
    meet(&mut from, &mut to);

    let report = first_report(&mut from, to.local_address(), &large);
    assert_eq!(report.trouble, Trouble::TooLarge { mtu: 1300 });
    assert_eq!(
        (report.to, report.by),
        (to.local_address(), Some(ip("10.0.1.9")))
    );
    assert_eq!(
        a.within(|| kernel_mtu(ip("10.0.1.1"), ip("10.0.2.1")))
            .unwrap(),
        1300
    );
    // What a router says keeps nobody from trying: this goes out, and is dropped again.
    assert_eq!(
        from.send(to.local_address(), &[datagram(&large)]).unwrap(),
        1
    );
    let sent = vec![contents(1, 1272); 5];
    assert_eq!(exchange(&mut from, &mut to, &sent), sent);
}

#[test]
fn no_route_and_no_neighbour_are_told_apart_from_no_port() {
    let Some((a, b)) = two_hosts("10.0.0.1/24", "10.0.0.2/24") else {
        return;
    };
    let mut from = bind(&a, "10.0.0.1");
    let bytes = contents(0, 72);
    let elsewhere = SocketAddr::new(ip("192.0.2.1"), 20007);
    let error = from.send(elsewhere, &[datagram(&bytes)]).unwrap_err();
    assert!(matches!(error, SendError::Unreachable { .. }), "{error}");
    let closed = bind(&b, "10.0.0.2").local_address();
    let report = first_report(&mut from, closed, &bytes);
    assert_eq!(report.trouble, Trouble::PortUnreachable);
    let nobody = SocketAddr::new(ip("10.0.0.77"), 20007);
    let report = first_report(&mut from, nobody, &bytes);
    assert_eq!(
        (report.to, report.trouble),
        (nobody, Trouble::HostUnreachable)
    );
}

#[test]
fn the_way_to_a_host_is_told() {
    let (Some(a), Some(router), Some(b)) = (Host::new(), Host::new(), Host::new()) else {
        return;
    };
    a.join(("eth", "10.0.1.1/24"), &router, ("left", "10.0.1.9/24"));
    router.join(("right", "fd00::9/64"), &b, ("eth", "fd00::1/64"));
    a.run("ip route add 10.0.2.0/24 via 10.0.1.9");
    // A link has no carrier until it has come up, which is a doubt.
    meet(&mut bind(&a, "10.0.1.1"), &mut bind(&router, "10.0.1.9"));
    let neighbour = a.within(|| route_to(ip("10.0.1.9"))).unwrap();
    assert_eq!(
        (neighbour.source, neighbour.gateway),
        (ip("10.0.1.1"), None)
    );
    assert_eq!(
        (&neighbour.interface.name[..], neighbour.interface.mtu),
        ("eth", 1500)
    );
    assert_eq!(neighbour.interface.kind.as_deref(), Some("veth"));
    let behind = a.within(|| route_to(ip("10.0.2.1"))).unwrap();
    assert_eq!(
        (behind.source, behind.gateway),
        (ip("10.0.1.1"), Some(ip("10.0.1.9")))
    );
    assert_eq!(behind.doubts(), []);
    let sixth = b.within(|| route_to(ip("fd00::9"))).unwrap();
    assert_eq!(
        (sixth.source, &sixth.interface.name[..]),
        (ip("fd00::1"), "eth")
    );
    let ours = a.within(|| route_to(ip("10.0.1.1"))).unwrap();
    assert!(ours.is_local && ours.interface.name == "eth", "{ours}");
    let nowhere = a.within(|| route_to(ip("10.0.3.1"))).unwrap_err();
    assert!(matches!(nowhere, RouteError::None { .. }), "{nowhere}");
}
