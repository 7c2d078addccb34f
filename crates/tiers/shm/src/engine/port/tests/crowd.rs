//! More peers than every poll looks at.

use bcl_types::Cause;

use super::{ShmPort, Single};
use crate::testing::{End, Ports, Told, wait_until};

const PEERS: u64 = 9;

/// A port with peers that have connected one after the other.
fn crowd() -> (End<ShmPort>, Vec<End<ShmPort>>) {
    let mut me = Single::open();
    let mut peers = Vec::new();
    for number in 0..PEERS {
        let mut peer = Single::open();
        peer.send_system(me.address(), 10, number);
        wait_until(|| {
            peer.poll();
            me.poll();
            me.program.heard(Told::System(number))
        });
        peers.push(peer);
    }
    me.program.told.clear();
    (me, peers)
}

/// It is cut off, though nobody is left to be looked at in its stead.
#[test]
fn the_last_peer_breaks_the_protocol() {
    for breaks in 0..PEERS as usize {
        let (mut me, mut peers) = crowd();
        let mut last = peers.remove(breaks);
        for peer in peers {
            drop(peer);
            me.poll_until(|program| program.farewell().is_some());
            me.program.told.clear();
        }
        let link = last
            .tier
            .peers
            .get_mut(0)
            .and_then(|peer| peer.link.as_mut());
        link.expect("they have met").pair.cells_out.send(&[0; 8]);
        me.poll_until(|program| program.farewell().is_some());
        assert_eq!(me.program.told, [Told::Gone(Cause::Protocol)]);
    }
}
