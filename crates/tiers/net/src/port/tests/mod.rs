//! Ports of the network tier on the loopback interface, each at an address of its own.

mod bounds;
mod connecting;

use std::sync::Arc;
use std::time::Duration;

use bcl_node::JobKey;
use bcl_os::sync::{AtomicU32, Ordering};
use bcl_tier::page::Counter;
use bcl_tier::{Friends, PeerKeys, Shared, Tier};
use bcl_types::{Address, Cause, NodeId};

use crate::testing::leaving::{Closes, Way, leaving};
use crate::testing::{End, Ports, Told, order, pair, wait_until};
use crate::{Interception, NetConfig, NetPort, watcher};

/// With the usual patience.
struct Net;

/// They give a silent peer up soon.
struct Impatient;

impl Ports for Net {
    type Tier = NetPort;

    fn open() -> End<NetPort> {
        open(Duration::from_secs(30))
    }
}

impl Ports for Impatient {
    type Tier = NetPort;

    fn open() -> End<NetPort> {
        open(Duration::from_secs(1))
    }
}

fn open(dead_after: Duration) -> End<NetPort> {
    let friends = Friends {
        key: JobKey::from_hex(&"07".repeat(32)).unwrap(),
        peer_keys: PeerKeys::default(),
        allow_uids: Vec::new(),
    };
    let shared = Arc::new(Shared::new(unused_address(), friends).unwrap());
    let config = NetConfig {
        dead_after,
        takes_long: false,
        interception: Interception::Never,
        keeps_streams: false,
    };
    let port = NetPort::open(&shared, config).unwrap();
    End::new(port, shared)
}

/// Nobody else has the node number, if tests of several processes run side by side in one network.
fn unused_address() -> Address {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let [_, high, middle, low] = ((std::process::id() & 0x7fff) << 7 | number & 127).to_be_bytes();
    Address {
        node: NodeId([127, 64 | high & 63, middle, low].into()),
        port: 1,
    }
}

/// System messages that a port has taken from the network, whoever looked.
fn found(end: &End<NetPort>) -> u64 {
    end.shared
        .page
        .counter(Counter::SystemReceived)
        .load(Ordering::Relaxed)
}

/// Its process ends, and the kernel says that nobody listens.
struct Dies;

/// It says nothing any more, as a host that is cut off.
struct FallsSilent(#[allow(dead_code, reason = "its sockets stay open")] End<NetPort>);

impl Way<NetPort> for Dies {
    fn leave(end: End<NetPort>, me: &mut End<NetPort>) -> Self {
        // What it did not look at is sent again. Nothing new is: if it was known to be gone by then, that would begin a
        // connection.
        drop(FallsSilent::leave(end, me));
        Self
    }

    fn is_cause(cause: Cause) -> bool {
        cause == Cause::Vanished
    }
}

impl Way<NetPort> for FallsSilent {
    fn leave(mut end: End<NetPort>, me: &mut End<NetPort>) -> Self {
        end.is_closed = true;
        watcher::leave(&end.tier.station);
        // Who owes nothing is not missed so soon.
        me.send_system(end.address(), 0, 0);
        Self(end)
    }

    fn is_cause(cause: Cause) -> bool {
        matches!(cause, Cause::Silent(_))
    }
}

leaving! {
    closes: Net, Closes;
    dies: Net, Dies;
    falls_silent: Impatient, FallsSilent;
}

/// Now the background thread finds what comes, now the program itself.
#[test]
fn nothing_is_lost_or_told_twice() {
    order::nothing_is_lost_or_told_twice::<Net>(|me, count| {
        wait_until(|| found(me) >= count);
    });
}

#[test]
fn messages_come_before_the_end_of_their_sender() {
    order::messages_come_before_the_end_of_their_sender::<Net>(500);
}

#[test]
fn a_message_meets_its_buffer_before_the_end_of_its_sender() {
    order::a_message_meets_its_buffer_before_the_end_of_its_sender::<Net>();
}

#[test]
fn the_connection_is_the_first_news() {
    order::the_connection_is_the_first_news::<Net>();
}

#[test]
fn what_was_received_was_sent() {
    for len_bytes in [10, 1000, 100_000] {
        order::what_was_received_was_sent::<Net>(len_bytes);
    }
}

/// The peer is gone only once the program has heard of its messages ([SEM-7.4]), but then at once.
#[test]
fn the_end_is_told_with_the_news_that_it_waited_for() {
    let (mut me, mut peer) = pair::<Net>();
    peer.send(me.address(), 100, 5);
    peer.is_closed = true;
    peer.tier.close(Duration::from_secs(30));
    // It has its answer: the background thread has found everything.
    me.poll();
    let gone = Told::Gone(Cause::Closed);
    assert_eq!(
        me.program.told,
        [Told::Arrived(5), Told::Withdrawn(1), gone]
    );
}
