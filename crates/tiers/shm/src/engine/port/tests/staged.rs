//! Long messages over the stage of a port ([SHM-4.15]).

use bcl_types::Cause;

use super::{ShmPort, Stream};
use crate::engine::link::Link;
use crate::engine::stage::{PLACE_BYTES, STAGE_BYTES};
use crate::testing::{End, Ports, Told, pair, wait_until};

const LEN: usize = 20 * PLACE_BYTES + 1;
const PIECES: u64 = 21;

fn link(end: &mut End<ShmPort>) -> &mut Link {
    let peer = end.tier.peers.get_mut(0).expect("it has a peer");
    peer.link.as_mut().expect("they have met")
}

/// Pieces that have come over the stage.
fn staged(me: &mut End<ShmPort>) -> u64 {
    link(me).pair.my_returns().staged()
}

/// One more message comes, and is whole.
fn receive(me: &mut End<ShmPort>, peer: &mut End<ShmPort>) {
    let post = me.post(LEN);
    let send = peer.send(me.address(), LEN, 0);
    wait_until(|| {
        me.poll();
        peer.poll();
        let is_received = me.program.heard(Told::Received(post, Ok(())));
        is_received && peer.program.heard(Told::Sent(send, Ok(())))
    });
    assert!(me.lent_last().iter().all(|byte| *byte == 1));
}

/// Messages come until the peer has seen that we have its stage.
fn receive_until_staged(me: &mut End<ShmPort>, peer: &mut End<ShmPort>) {
    wait_until(|| {
        receive(me, peer);
        staged(me) > 0
    });
}

#[test]
fn they_go_over_the_stage_once_it_is_seen() {
    let (mut me, mut peer) = pair::<Stream>();
    assert_eq!(peer.tier.stages.len_bytes(), 0);
    receive_until_staged(&mut me, &mut peer);
    assert_eq!(
        (peer.tier.stages.len_bytes(), me.tier.stages.len_bytes()),
        (STAGE_BYTES, 0)
    );
    let before = staged(&mut me);
    // More than the stage has room for.
    for _ in 0..7 {
        receive(&mut me, &mut peer);
    }
    assert_eq!(staged(&mut me) - before, 7 * PIECES);
}

/// Both directions, and two receivers of one sender.
#[test]
fn all_connections_of_a_port_share_it() {
    let (mut me, mut peer) = pair::<Stream>();
    receive_until_staged(&mut me, &mut peer);
    receive_until_staged(&mut peer, &mut me);
    let mut third = Stream::open();
    receive_until_staged(&mut third, &mut peer);
    assert_eq!(peer.tier.stages.len_bytes(), STAGE_BYTES);
    let posts = [me.post(LEN), third.post(LEN)];
    for to in [me.address(), third.address()] {
        peer.send(to, LEN, 1);
    }
    wait_until(|| {
        for end in [&mut me, &mut peer, &mut third] {
            end.poll();
        }
        let is_whole = |end: &End<ShmPort>, post| end.program.heard(Told::Received(post, Ok(())));
        is_whole(&me, posts[0]) && is_whole(&third, posts[1])
    });
}

#[test]
fn who_is_of_another_user_is_shown_none() {
    let (mut me, mut peer) = pair::<Stream>();
    link(&mut peer).is_of_own_user = false;
    for _ in 0..10 {
        receive(&mut me, &mut peer);
    }
    assert_eq!((staged(&mut me), peer.tier.stages.len_bytes()), (0, 0));
}

/// It may still be reading there.
#[test]
fn what_lies_there_for_a_peer_that_ends_stays_as_it_is() {
    let (mut me, mut peer) = pair::<Stream>();
    receive_until_staged(&mut me, &mut peer);
    let first = peer.tier.stages.number();
    me.post(LEN);
    peer.send(me.address(), LEN, 0);
    // Until the peer has been asked for the message, and has sent what there is room for.
    let taken = staged(&mut me);
    me.poll_until(|program| program.heard(Told::Arrived(0)) && program.under_way() == 1);
    wait_until(|| {
        me.poll();
        peer.poll();
        staged(&mut me) > taken
    });
    drop(me);
    peer.poll_until(|program| program.farewell() == Some(Cause::Closed));
    let second = peer.tier.stages.number();
    assert_ne!(first, second);
    let mut other = Stream::open();
    receive_until_staged(&mut other, &mut peer);
    assert_eq!(peer.tier.stages.number(), second);
}
