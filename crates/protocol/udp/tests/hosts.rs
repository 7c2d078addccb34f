//! Between hosts: namespaces joined by veth. Without root nothing is checked.

mod common;

use std::net::{IpAddr, SocketAddr};

use bcl_netns::{Block, Host};
use bcl_udp::mtu::{kernel_mtu, largest_datagram_bytes};
use bcl_udp::route::{RouteError, route_to};
use bcl_udp::{Report, SendError, Socket, Trouble};
use common::{contents, datagram, exchange, meet, wait};

/// Host `host` of part `part`.
fn v4(block: Block, part: u8, host: u8) -> IpAddr {
    block.v4(part, host).into()
}

/// Two hosts joined by `eth`, with their addresses.
fn two_hosts() -> Option<([Host; 2], [IpAddr; 2])> {
    let (block, hosts) = bcl_netns::hosts()?;
    let [one, other] = [1, 2].map(|host| v4(block, 0, host));
    hosts[0]
        .join(("eth", one), &hosts[1], ("eth", other))
        .unwrap();
    Some((hosts, [one, other]))
}

fn bind(host: &Host, address: IpAddr) -> Socket {
    host.within(|| Socket::bind(address, 0).unwrap())
}

#[test]
fn streams_arrive_at_every_mtu() {
    let Some((block, [a, b])) = bcl_netns::hosts() else {
        return;
    };
    let (v4_mtus, v6_mtus) = ([600, 1500, 9000], [1280, 1500, 9000]);
    let v6 = |host| IpAddr::from(block.v6(host));
    for (name, one, other, mtus) in [
        ("four", v4(block, 0, 1), v4(block, 0, 2), v4_mtus),
        ("six", v6(1), v6(2), v6_mtus),
    ] {
        a.join((name, one), &b, (name, other)).unwrap();
        for mtu in mtus {
            a.run(&format!("ip link set {name} mtu {mtu}")).unwrap();
            b.run(&format!("ip link set {name} mtu {mtu}")).unwrap();
            let (mut from, mut to) = (bind(&a, one), bind(&b, other));
            meet(&mut from, &mut to);
            let len = largest_datagram_bytes(mtu, one);
            let sent: Vec<_> = (0..200).map(|number| contents(number, len)).collect();
            assert!(exchange(&mut from, &mut to, &sent) == sent, "mtu {mtu}");
        }
    }
}

#[test]
fn an_interface_that_takes_less_is_noticed_at_once() {
    let Some(([a, b], [one, other])) = two_hosts() else {
        return;
    };
    let (mut from, to) = (bind(&a, one), bind(&b, other).local_address());
    let large = contents(0, 1472);
    for batch in [&[datagram(&large)][..], &[datagram(&large); 3]] {
        a.run("ip link set eth mtu 1500").unwrap();
        assert_eq!(from.send(to, batch).unwrap(), batch.len());
        a.run("ip link set eth mtu 1000").unwrap();
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
    assert_eq!(a.within(|| kernel_mtu(one, other)).unwrap(), 1000);
    let small = contents(0, 972);
    assert_eq!(from.send(to, &[datagram(&small); 3]).unwrap(), 3);
}

/// A veth lets nothing in that is too long for its other end, and tells so as if a queue were full. Who waits for that
/// queue waits for ever.
#[test]
fn what_the_other_end_lets_not_in_holds_up_nothing_else() {
    let Some(([a, b], [one, other])) = two_hosts() else {
        return;
    };
    let (mut from, mut to) = (bind(&a, one), bind(&b, other));
    a.run("ip link set eth mtu 9000").unwrap();
    b.run("ip link set eth mtu 1400").unwrap();
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
    let Some((block, [a, router, b])) = bcl_netns::hosts() else {
        return;
    };
    let [one, left] = [1, 9].map(|host| v4(block, 1, host));
    let [other, right] = [1, 9].map(|host| v4(block, 2, host));
    a.join(("eth", one), &router, ("left", left)).unwrap();
    router.join(("right", right), &b, ("eth", other)).unwrap();
    let forwarding = "/proc/sys/net/ipv4/ip_forward";
    router.within(|| std::fs::write(forwarding, "1")).unwrap();
    router.run("ip link set right mtu 1300").unwrap();
    a.run(&format!("ip route add default via {left}")).unwrap();
    b.run(&format!("ip route add default via {right}")).unwrap();
    let (mut from, mut to) = (bind(&a, one), bind(&b, other));
    let large = contents(0, 1472);
    meet(&mut from, &mut to);

    let report = first_report(&mut from, to.local_address(), &large);
    assert_eq!(report.trouble, Trouble::TooLarge { mtu: 1300 });
    assert_eq!((report.to, report.by), (to.local_address(), Some(left)));
    assert_eq!(a.within(|| kernel_mtu(one, other)).unwrap(), 1300);
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
    let Some((block, [a, b])) = bcl_netns::hosts() else {
        return;
    };
    let [one, other, nobody] = [1, 2, 77].map(|host| v4(block, 0, host));
    a.join(("eth", one), &b, ("eth", other)).unwrap();
    let mut from = bind(&a, one);
    let bytes = contents(0, 72);
    let elsewhere = SocketAddr::new(v4(block, 1, 1), 20007);
    let error = from.send(elsewhere, &[datagram(&bytes)]).unwrap_err();
    assert!(matches!(error, SendError::Unreachable { .. }), "{error}");
    let closed = bind(&b, other).local_address();
    let report = first_report(&mut from, closed, &bytes);
    assert_eq!(report.trouble, Trouble::PortUnreachable);
    let nobody = SocketAddr::new(nobody, 20007);
    let report = first_report(&mut from, nobody, &bytes);
    assert_eq!(
        (report.to, report.trouble),
        (nobody, Trouble::HostUnreachable)
    );
}

#[test]
fn the_way_to_a_host_is_told() {
    let Some((block, [a, router, b])) = bcl_netns::hosts() else {
        return;
    };
    let [one, left] = [1, 9].map(|host| v4(block, 1, host));
    let [other, right] = [1, 9].map(|host| IpAddr::from(block.v6(host)));
    a.join(("eth", one), &router, ("left", left)).unwrap();
    router.join(("right", right), &b, ("eth", other)).unwrap();
    let (far, bits) = (v4(block, 2, 0), Block::PART_PREFIX_BITS);
    a.run(&format!("ip route add {far}/{bits} via {left}"))
        .unwrap();
    // A link has no carrier until it has come up, which is a doubt.
    meet(&mut bind(&a, one), &mut bind(&router, left));
    let neighbour = a.within(|| route_to(left)).unwrap();
    assert_eq!((neighbour.source, neighbour.gateway), (one, None));
    assert_eq!(
        (&neighbour.interface.name[..], neighbour.interface.mtu),
        ("eth", 1500)
    );
    assert_eq!(neighbour.interface.kind.as_deref(), Some("veth"));
    let behind = a.within(|| route_to(v4(block, 2, 1))).unwrap();
    assert_eq!((behind.source, behind.gateway), (one, Some(left)));
    assert_eq!(behind.doubts(), []);
    let sixth = b.within(|| route_to(right)).unwrap();
    assert_eq!((sixth.source, &sixth.interface.name[..]), (other, "eth"));
    let ours = a.within(|| route_to(one)).unwrap();
    assert!(ours.is_local && ours.interface.name == "eth", "{ours}");
    let nowhere = a.within(|| route_to(v4(block, 3, 1))).unwrap_err();
    assert!(matches!(nowhere, RouteError::None { .. }), "{nowhere}");
}
