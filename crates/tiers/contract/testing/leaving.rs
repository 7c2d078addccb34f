//! A peer leaves in the midst of something: each operation ends once, with the cause, and before the news of the end. The
//! program sees to "once".

use std::time::Duration;

use bcl_tier::Tier;
use bcl_types::{Access, Cause, OpError};

use super::{End, Ports, Told, pair, wait_until};

/// Too long to arrive while nobody polls.
pub const LONG_BYTES: usize = 32 << 20;

/// How a port leaves. What stays of it is kept meanwhile.
pub trait Way<T: Tier> {
    /// It leaves. `me` is the peer that stays.
    fn leave(end: End<T>, me: &mut End<T>) -> Self;

    /// Whether this is what its peers are told of it.
    fn is_cause(cause: Cause) -> bool;
}

/// It closes.
pub struct Closes;

impl<T: Tier> Way<T> for Closes {
    fn leave(mut end: End<T>, _: &mut End<T>) -> Self {
        end.is_closed = true;
        end.tier.close(Duration::ZERO);
        Self
    }

    fn is_cause(cause: Cause) -> bool {
        cause == Cause::Closed
    }
}

/// The peer leaves. Returns what was told before the news of that, and how operations fail that it leaves behind.
fn see_off<T: Tier, W: Way<T>>(me: &mut End<T>, peer: End<T>) -> (Vec<Told>, OpError) {
    let _remains = W::leave(peer, me);
    me.poll_until(|program| program.farewell().is_some());
    let cause = me.program.farewell().expect("as was just seen");
    assert!(W::is_cause(cause), "{cause}");
    let mut told = std::mem::take(&mut me.program.told);
    assert_eq!(told.pop(), Some(Told::Gone(cause)), "after {told:?}");
    assert!(me.tier.links().is_empty());
    (told, cause.into())
}

/// Nothing is under way.
pub fn idle<P: Ports, W: Way<P::Tier>>() {
    let (mut me, peer) = pair::<P>();
    assert_eq!(see_off::<_, W>(&mut me, peer).0, []);
}

/// Our message waits there for a buffer.
pub fn with_our_message<P: Ports, W: Way<P::Tier>>() {
    let (mut me, mut peer) = pair::<P>();
    let sends = [LONG_BYTES, 1000].map(|len_bytes| me.send(peer.address(), len_bytes, 0));
    wait_until(|| {
        me.poll();
        peer.poll();
        peer.program.waiting.len() == 2
    });
    let (mut told, error) = see_off::<_, W>(&mut me, peer);
    told.sort_by_key(|told| format!("{told:?}"));
    assert_eq!(told, sends.map(|op| Told::Sent(op, Err(error))));
}

/// A message of theirs waits here for a buffer: it is withdrawn, and a buffer given to it is not taken.
pub fn with_their_message<P: Ports, W: Way<P::Tier>>() {
    let (mut me, mut peer) = pair::<P>();
    for (number, len_bytes) in [(0, LONG_BYTES), (1, 1000)] {
        peer.send(me.address(), len_bytes, number);
    }
    wait_until(|| {
        me.poll();
        peer.poll();
        me.program.waiting.len() == 2
    });
    let waiting = me.program.waiting.clone();
    let (told, _) = see_off::<_, W>(&mut me, peer);
    let withdrawn = [Told::Withdrawn(1); 2];
    assert_eq!(
        told,
        [&[Told::Arrived(0), Told::Arrived(1)], &withdrawn[..]].concat()
    );
    for message in waiting {
        me.accept_in_vain(message);
    }
}

/// A long message of ours is half there.
pub fn half_sent<P: Ports, W: Way<P::Tier>>() {
    let (mut me, mut peer) = pair::<P>();
    peer.post(LONG_BYTES);
    let send = me.send(peer.address(), LONG_BYTES, 0);
    wait_until(|| {
        me.poll();
        peer.poll();
        peer.lent_last()[0] == 1
    });
    assert_eq!(
        peer.program.told,
        [Told::Arrived(0)],
        "it is only half there"
    );
    let (told, error) = see_off::<_, W>(&mut me, peer);
    assert_eq!(told, [Told::Sent(send, Err(error))]);
}

/// A long message of theirs is half here.
pub fn half_received<P: Ports, W: Way<P::Tier>>() {
    let (mut me, mut peer) = pair::<P>();
    let post = me.post(LONG_BYTES);
    peer.send(me.address(), LONG_BYTES, 0);
    wait_until(|| {
        peer.poll();
        me.poll();
        me.lent_last()[0] == 1
    });
    let (told, error) = see_off::<_, W>(&mut me, peer);
    assert_eq!(told, [Told::Arrived(0), Told::Received(post, Err(error))]);
    assert_eq!(me.lent_last().last(), Some(&0), "it was only half here");
}

/// We access a window of theirs.
pub fn with_rma<P: Ports, W: Way<P::Tier>>() {
    let (mut me, mut peer) = pair::<P>();
    peer.bind(LONG_BYTES, Access::PUT | Access::GET);
    let put = me.put(peer.address(), LONG_BYTES);
    let get = me.get(peer.address(), LONG_BYTES);
    let (mut told, error) = see_off::<_, W>(&mut me, peer);
    told.sort_by_key(|told| format!("{told:?}"));
    assert_eq!(told, [put, get].map(|op| Told::RmaDone(op, Err(error))));
}

/// They have not looked at what we sent.
pub fn unheard<P: Ports, W: Way<P::Tier>>() {
    let (mut me, peer) = pair::<P>();
    let send = me.send(peer.address(), 100, 0);
    let (told, error) = see_off::<_, W>(&mut me, peer);
    assert_eq!(told, [Told::Sent(send, Err(error))]);
}

/// One test for each of what a peer can leave in.
macro_rules! leaving {
    ($($name:ident: $ports:ty, $way:ty;)*) => {
        $(mod $name {
            use super::*;
            $crate::testing::leaving::leaving!(@ $ports, $way, idle with_our_message with_their_message half_sent half_received with_rma unheard);
        })*
    };
    (@ $ports:ty, $way:ty, $($phase:ident)*) => {
        $(#[test] fn $phase() { $crate::testing::leaving::$phase::<$ports, $way>() })*
    };
}
pub(crate) use leaving;
