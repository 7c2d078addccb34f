//! SEM-1.6: which tier reaches which peer. Loopback addresses stand for nodes, folders of their own for hosts.

use std::net::UdpSocket;
use std::path::Path;

use bcl::{Address, Device, Error, Event, NodeId, OpError, Port, PortOptions, Which};
use bcl_testing::fixture::{SingleCopy, Udp};
use bcl_testing::{Fixture, PATIENCE, World};

/// A port of the world's job on one of the nodes 0 to 7 that belong to this test alone.
fn options(world: &World<SingleCopy>, node: u8, folder: &Path) -> PortOptions {
    world.options().node(node_of(node)).folder(folder)
}

fn node_of(node: u8) -> NodeId {
    Udp::node((std::process::id() & 0xffff) << 4 | 8 | u32::from(node))
}

/// Sends a message from one port to another and returns the tier that carried it.
fn meet(a: &mut Port, b: &mut Port) -> Result<Device, OpError> {
    a.send_system(b.address(), b"hello", 1).expect("it starts");
    let end = std::time::Instant::now() + PATIENCE;
    while std::time::Instant::now() < end {
        if let Some(Event::Sent { result, .. }) = a.poll(Which::Send).expect("it is open") {
            result?;
        }
        a.poll(Which::Recv).expect("it is open");
        if let Some(Event::Message(message)) = b.poll(Which::Recv).expect("it is open") {
            assert_eq!(b.data(&message), b"hello");
            b.release(message).expect("it is open");
            let peers = b.peers();
            let peer = peers.iter().find(|peer| peer.address == a.address());
            return Ok(peer.expect("it is connected").device);
        }
    }
    panic!("nothing came in {PATIENCE:?}");
}

/// Sends a message and returns how that ended.
fn send(port: &mut Port, to: Address) -> Result<(), OpError> {
    port.send_system(to, b"hello", 1).expect("it starts");
    match port.wait(Which::Send, Some(PATIENCE)) {
        Ok(Some(Event::Sent { result, .. })) => result,
        other => panic!("{other:?} instead of a completion"),
    }
}

fn await_gone(port: &mut Port) {
    loop {
        match port.wait(Which::Recv, Some(PATIENCE)) {
            Ok(Some(Event::PeerGone { .. })) => return,
            Ok(Some(_)) => {}
            other => panic!("{other:?} instead of a peer that is gone"),
        }
    }
}

/// SEM-1.6
#[test]
fn one_port_reaches_both_kinds_of_peers_at_once() {
    let (here, there) = (World::<SingleCopy>::new(), World::<SingleCopy>::new());
    let auto = |node, folder: &Path| options(&here, node, folder).device(None);
    let mut port = auto(0, here.folder()).open().unwrap();
    let mut neighbour = auto(0, here.folder()).open().unwrap();
    let mut guest = auto(1, here.folder()).open().unwrap();
    let mut far = auto(2, there.folder()).open().unwrap();
    assert_eq!(meet(&mut port, &mut neighbour), Ok(Device::Shm));
    assert_eq!(meet(&mut port, &mut guest), Ok(Device::Shm));
    assert_eq!(meet(&mut port, &mut far), Ok(Device::Udp));
    assert_eq!(meet(&mut far, &mut port), Ok(Device::Udp));
    let tiers: Vec<_> = port.peers().iter().map(|peer| peer.device).collect();
    assert_eq!(tiers, [Device::Shm, Device::Shm, Device::Udp]);
}

/// SEM-1.6
#[test]
fn a_peer_that_comes_back_elsewhere_is_reached_where_it_is() {
    let (here, there) = (World::<SingleCopy>::new(), World::<SingleCopy>::new());
    let auto = |node, folder: &Path| options(&here, node, folder).device(None);
    let mut port = auto(0, here.folder()).open().unwrap();
    let guest = |folder: &Path| auto(1, folder).number(2000).open().unwrap();
    // Nobody has this address yet: whoever has it later is not held against where it was looked for.
    let address = Address {
        node: node_of(1),
        port: 2000,
    };
    assert_eq!(send(&mut port, address), Err(OpError::NoPort));
    for (folder, device) in [
        (&here, Device::Shm),
        (&there, Device::Udp),
        (&here, Device::Shm),
    ] {
        let mut guest = guest(folder.folder());
        assert_eq!(meet(&mut port, &mut guest), Ok(device));
        assert_eq!(meet(&mut guest, &mut port), Ok(device));
        drop(guest);
        await_gone(&mut port);
    }
}

/// SEM-1.6
#[test]
fn what_makes_no_contact_decides_nothing() {
    let here = World::<SingleCopy>::new();
    let auto = |node| options(&here, node, here.folder()).device(None);
    let mut port = auto(0).open().unwrap();
    let at = |number| Address {
        node: node_of(1),
        port: number,
    };
    // Nobody has these addresses yet, so that they would be looked for on another node.
    let limit = port.unreliable_max(at(2000)).unwrap();
    let too_long = vec![0; limit + 1];
    let sent = port.send_unreliable(at(2001), &too_long);
    assert!(matches!(sent, Err(Error::InvalidArgument(_))), "{sent:?}");
    for number in [2000, 2001] {
        let mut guest = auto(1).number(number).open().unwrap();
        assert_eq!(meet(&mut port, &mut guest), Ok(Device::Shm));
    }
}

/// SEM-1.6
#[test]
fn one_device_can_be_asked_for() {
    let (here, there) = (World::<SingleCopy>::new(), World::<SingleCopy>::new());
    let udp = |folder: &Path| options(&here, 3, folder).device(Device::Udp);
    let mut a = udp(here.folder()).open().unwrap();
    let mut b = udp(here.folder()).open().unwrap();
    assert_eq!(meet(&mut a, &mut b), Ok(Device::Udp));
    let shm = |node, folder: &Path| options(&here, node, folder).device(Device::Shm);
    let mut a = shm(4, here.folder()).open().unwrap();
    let mut b = shm(5, there.folder()).open().unwrap();
    assert_eq!(meet(&mut a, &mut b), Err(OpError::Unreachable));
}

/// SEM-1.6
#[test]
fn a_number_that_has_no_udp_port_is_refused_where_only_udp_is_wanted() {
    let world = World::<SingleCopy>::new();
    let opened = options(&world, 6, world.folder())
        .device(Device::Udp)
        .number(9000)
        .open();
    let Err(Error::InvalidArgument(text)) = opened else {
        panic!("port 9000 was opened over UDP: {opened:?}");
    };
    assert!(text.contains("8191"), "{text}");
}

/// SEM-1.2: other programs have all UDP ports but three, and those ports are found.
#[test]
fn a_number_is_assigned_whose_udp_port_is_free() {
    const FREE: [u16; 3] = [1024, 5000, 8191];
    let descriptors = rustix::process::Rlimit {
        current: Some(9000),
        maximum: Some(20_000),
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, descriptors)
        .expect("root may have as many descriptors as this");
    let world = World::<SingleCopy>::new();
    let node = std::net::IpAddr::V4(node_of(0).0);
    let others = (1024..=8191).filter(|number| !FREE.contains(number));
    let others: Vec<UdpSocket> = others
        .map(|number| UdpSocket::bind((node, 20_000 + number)).expect("nobody has it"))
        .collect();

    let open = || {
        options(&world, 0, world.folder())
            .device(Device::Udp)
            .open()
    };
    let ports = FREE.map(|_| open().expect("one is free"));
    let mut numbers = ports.each_ref().map(|port| port.address().port);
    numbers.sort();
    assert_eq!(numbers, FREE);
    let error = open().expect_err("none is free");
    assert!(matches!(error, Error::Folder(_)), "{error}");
    let (error, taken) = (error.to_string(), others.len());
    assert!(error.contains("free: 3 are in use in"), "{error}");
    assert!(
        error.contains(&format!("of {taken} by other programs")),
        "{error}"
    );
}
