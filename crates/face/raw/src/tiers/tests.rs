//! Which of two tiers is asked what.

mod fake;
mod port;

use std::time::Duration;

use bcl_os::sync::Ordering;
use bcl_tier::page::Counter;
use bcl_tier::{Depths, MessageId, Pieces, SystemHandle, Target, Upcalls};
use bcl_types::{Cause, Device};

use port::{ELSEWHERE, NEIGHBOUR, OWN, Port, address};

#[test]
fn a_peer_of_another_node_gets_the_tier_that_reaches_it() {
    for (near_knows, near_finds, far_knows, tier) in [
        (false, false, false, "far"),
        (false, false, true, "far"),
        (false, true, false, "near"),
        // Its packets have come: whoever is in the folder is somebody else, or it would have come by there.
        (false, true, true, "far"),
        (true, false, false, "near"),
        (true, true, true, "near"),
    ] {
        let mut port = Port::new();
        port.tiers.near.knows = near_knows;
        port.tiers.near.finds = near_finds;
        port.far().knows = far_knows;
        let case = (near_knows, near_finds, far_knows);
        assert_eq!(port.contact(ELSEWHERE), tier, "{case:?}");
    }
}

#[test]
fn peers_of_the_own_node_are_near_unless_the_far_tier_is_all_there_is() {
    let mut port = Port::new();
    port.far().knows = true;
    assert_eq!(port.contact(NEIGHBOUR), "near");
    assert_eq!(port.contact(OWN), "near");
    let mut far_only = Port::with(true, true);
    far_only.tiers.near.knows = true;
    assert_eq!(far_only.contact(NEIGHBOUR), "far");
    assert_eq!(far_only.contact(ELSEWHERE), "far");
    assert_eq!(far_only.contact(OWN), "near");
    let mut near_only = Port::with(false, false);
    assert_eq!(near_only.contact(ELSEWHERE), "near");
}

#[test]
fn a_route_is_kept_until_the_peer_is_gone() {
    let mut port = Port::new();
    port.send_system(ELSEWHERE);
    port.tiers.near.finds = true;
    port.send_normal(ELSEWHERE);
    port.tiers.near.knows = true;
    port.rma(ELSEWHERE);
    let by_far = ["send_system", "send_normal", "rma"].map(|call| ("far", call));
    assert_eq!(port.calls(), by_far);
    port.books.peer_gone(address(ELSEWHERE), Cause::Closed);
    port.send_system(ELSEWHERE);
    assert_eq!(port.calls(), [("near", "send_system")]);
}

/// Nothing was sent, so that no tier will say that the peer was not reached.
#[test]
fn what_makes_no_contact_keeps_no_route() {
    let mut port = Port::new();
    port.tiers
        .unreliable_max(address(ELSEWHERE), &mut port.books);
    port.send_unreliable(ELSEWHERE, fake::LONGEST_BYTES + 1);
    port.tiers.near.finds = true;
    port.send_unreliable(ELSEWHERE, 1);
    port.tiers.near.finds = false;
    // There is a route by now, and it stays.
    port.send_unreliable(ELSEWHERE, fake::LONGEST_BYTES + 1);
    port.send_unreliable(ELSEWHERE, 1);
    let calls = port.calls();
    let [max, rest @ ..] = &calls[..] else {
        panic!("nothing was asked");
    };
    assert_eq!(max, &("far", "unreliable_max"));
    let tiers = ["far", "near", "near", "near"];
    assert_eq!(rest, tiers.map(|tier| (tier, "send_unreliable")));
}

#[test]
fn a_send_is_taken_back_from_the_tier_that_has_it() {
    for (near, far, asked) in [
        (true, true, &["near"][..]),
        (false, true, &["near", "far"]),
        (false, false, &["near", "far"]),
    ] {
        let mut port = Port::new();
        port.tiers.near.has_send = near;
        port.far().has_send = far;
        let peer = address(ELSEWHERE);
        let is_back = port.tiers.cancel_send(peer, &mut port.books, |_, _| true);
        assert_eq!(is_back, near || far);
        let asked: Vec<_> = asked.iter().map(|tier| (*tier, "cancel_send")).collect();
        assert_eq!(port.calls(), asked);
    }
}

#[test]
fn what_has_come_goes_back_to_the_tier_that_it_came_by() {
    for (device, tier) in [
        (Device::Shm, "near"),
        (Device::Udp, "far"),
        (Device::Xdp, "far"),
    ] {
        let message = MessageId {
            device,
            slot: 0,
            link: 0,
            number: 0,
        };
        let target = Target {
            memory: Pieces::one(std::ptr::null_mut(), 0),
            op: 1,
        };
        let handle = SystemHandle::from_words([u64::from(device.number()) << 32, 0, 0]).unwrap();
        let mut port = Port::new();
        assert!(port.tiers.accept(message, target, &mut port.books));
        assert!(port.tiers.release(&handle));
        assert_eq!(port.calls(), [(tier, "accept"), (tier, "release")]);
        let mut without = Port::with(false, false);
        let is_near = tier == "near";
        assert_eq!(
            without.tiers.accept(message, target, &mut without.books),
            is_near
        );
        assert_eq!(without.tiers.release(&handle), is_near);
    }
}

#[test]
fn a_round_goes_over_both() {
    let mut port = Port::new();
    port.tiers.poll(&mut port.books);
    assert_eq!(port.calls(), [("near", "poll"), ("far", "poll")]);
    let links: Vec<_> = port
        .tiers
        .links()
        .into_iter()
        .map(|(_, link)| link.copy)
        .collect();
    assert_eq!(links, ["near", "far"]);
}

#[test]
fn both_are_armed_or_none() {
    for (near_arms, far_arms, armed) in [
        (true, true, true),
        (true, false, false),
        (false, true, false),
        (false, false, false),
    ] {
        let mut port = Port::new();
        port.tiers.near.arms = near_arms;
        port.far().arms = far_arms;
        let case = (near_arms, far_arms);
        assert_eq!(port.tiers.arm(&mut port.books), armed, "{case:?}");
        assert_eq!(port.tiers.is_armed(), armed, "{case:?}");
        let is_armed = [port.tiers.near.is_armed, port.far().is_armed];
        assert_eq!(is_armed, [armed; 2], "{case:?}");
        port.tiers.disarm();
        let is_armed = [port.tiers.near.is_armed, port.far().is_armed];
        assert_eq!(is_armed, [false; 2], "{case:?}");
    }
}

#[test]
fn depths_of_both_are_added() {
    let mut port = Port::new();
    port.tiers.near.depths = Depths {
        pending_sends: 1,
        unexpected: 2,
        unreleased: 3,
        peer_memory_bytes: 4,
        peers: 5,
    };
    port.far().depths = Depths {
        pending_sends: 10,
        unexpected: 20,
        unreleased: 30,
        peer_memory_bytes: 40,
        peers: 50,
    };
    // Told anew each time, and not on top of the last.
    for _ in 0..2 {
        port.tiers.publish();
    }
    let page = &port.tiers.shared().page;
    let depths = [
        Counter::PendingSends,
        Counter::Unexpected,
        Counter::Unreleased,
        Counter::PeerMemory,
        Counter::Peers,
    ];
    let depths = depths.map(|counter| page.counter(counter).load(Ordering::Relaxed));
    assert_eq!(depths, [11, 22, 33, 44, 55]);
}

/// The near one holds the claim to the address: it goes last.
#[test]
fn the_far_tier_closes_first() {
    let mut port = Port::new();
    port.tiers.close(Duration::from_secs(3));
    assert_eq!(port.calls(), [("far", "close"), ("near", "close")]);
    assert_eq!(port.far().lingered, Some(Duration::from_secs(3)));
}
