//! Nobody answers: what waited for the connection ends, and then the attempt.

use bcl_types::{Address, OpError, OpId};
use bcl_udp::Socket;
use bcl_wire::udp_port;

use super::{Impatient, NetPort, unused_address};
use crate::testing::{End, Ports, Told};

type Begin = fn(&mut End<NetPort>, Address) -> OpId;
type Ends = fn(OpId, Result<(), OpError>) -> Told;

/// All that can wait for a connection, and how its end is told.
const WAYS: [(Begin, Ends); 5] = [
    (
        |me, peer| me.send_system(peer, 100, 0).expect("it waits"),
        Told::Sent,
    ),
    (|me, peer| me.send(peer, 100, 0), Told::Sent),
    (|me, peer| me.send(peer, 1 << 20, 0), Told::Sent),
    (|me, peer| me.put(peer, 1 << 20), Told::RmaDone),
    (|me, peer| me.get(peer, 100), Told::RmaDone),
];

#[test]
fn somebody_who_says_nothing() {
    let peer = unused_address();
    let port = udp_port::of_port(peer.port).unwrap();
    let _silent = Socket::bind(peer.node.0.into(), port).unwrap();
    let mut me = Impatient::open();
    let ends = WAYS.map(|(begin, end)| end(begin(&mut me, peer), Err(OpError::Unreachable)));
    let unwanted = me.send(peer, 100, 0);
    assert!(me.take_back(peer, unwanted));
    me.program.told.clear();
    me.poll_until(|program| program.heard(Told::Unreached));
    let mut told = me.program.told.clone();
    assert_eq!(told.pop(), Some(Told::Unreached));
    assert_eq!(told.len(), ends.len(), "{told:?}");
    assert!(ends.iter().all(|end| told.contains(end)), "{told:?}");
}

/// The kernel says so at once: each is the only one of its attempt.
#[test]
fn nobody_there() {
    let mut me = Impatient::open();
    let peer = unused_address();
    for (begin, end) in WAYS {
        let end = end(begin(&mut me, peer), Err(OpError::NoPort));
        me.poll_until(|program| program.heard(Told::Unreached));
        assert_eq!(std::mem::take(&mut me.program.told), [end, Told::Unreached]);
    }
}
