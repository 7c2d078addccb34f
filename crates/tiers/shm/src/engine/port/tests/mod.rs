//! Ports of the shm tier in one process, in a folder of the test's own.

mod bounds;
mod connecting;
mod crowd;
mod staged;

use std::path::PathBuf;
use std::sync::Arc;

use bcl_node::JobKey;
use bcl_os::sync::{AtomicU32, Ordering};
use bcl_tier::{NormalSend, Opening, PeerKeys, Pieces, PortConfig, Region, Source, Tier};
use bcl_types::{Cause, NodeId, OpError};

use super::ShmPort;
use crate::CopyMode;
use crate::testing::leaving::{Closes, LONG_BYTES, Way, leaving};
use crate::testing::{End, Ports, Told, order, pair};

/// Long messages are copied by the kernel.
struct Single;

/// They are pipelined through the stream ring.
struct Stream;

impl Ports for Single {
    type Tier = ShmPort;

    fn open() -> End<ShmPort> {
        open(CopyMode::Single)
    }
}

impl Ports for Stream {
    type Tier = ShmPort;

    fn open() -> End<ShmPort> {
        open(CopyMode::Stream)
    }
}

fn open(copy_mode: CopyMode) -> End<ShmPort> {
    let opening = opening();
    let shared = Arc::clone(&opening.shared);
    End::new(ShmPort::open(opening, copy_mode).unwrap(), shared)
}

/// A port that has its name, and serves nobody.
fn opening() -> Opening {
    let config = PortConfig {
        node: NodeId::LOOPBACK,
        number: None,
        folder: FOLDER.with(|folder| folder.0.clone()),
        key: JobKey::from_hex(&"07".repeat(32)).unwrap(),
        peer_keys: PeerKeys::default(),
        allow_uids: Vec::new(),
    };
    Opening::new(&config, |_| true).unwrap()
}

thread_local! {
    static FOLDER: OwnFolder = OwnFolder::new();
}

/// Goes with the thread of the test.
struct OwnFolder(PathBuf);

impl OwnFolder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bcl-tier-shm-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Its socket closes without a word, as when its process is killed and the kernel does not tell how.
struct Dies(#[allow(dead_code, reason = "its memory stays")] End<ShmPort>);

impl Way<ShmPort> for Dies {
    fn leave(end: End<ShmPort>, _: &mut End<ShmPort>) -> Self {
        for peer in end.tier.peers.all() {
            let link = peer.link.as_ref().expect("they have met");
            end.tier.service.drop_link(link.id);
        }
        Self(end)
    }

    fn is_cause(cause: Cause) -> bool {
        cause == Cause::Vanished
    }
}

leaving! {
    closes: Single, Closes;
    closes_in_stream: Stream, Closes;
    dies_in_stream: Stream, Dies;
}

#[test]
fn nothing_is_lost_or_told_twice() {
    order::nothing_is_lost_or_told_twice::<Single>(|_, _| {});
}

#[test]
fn messages_come_before_the_end_of_their_sender() {
    order::messages_come_before_the_end_of_their_sender::<Single>(120);
}

#[test]
fn a_message_meets_its_buffer_before_the_end_of_its_sender() {
    order::a_message_meets_its_buffer_before_the_end_of_its_sender::<Single>();
}

#[test]
fn the_connection_is_the_first_news() {
    order::the_connection_is_the_first_news::<Single>();
}

/// Nobody answers any more where its memory can be had.
#[test]
fn closes_before_its_dma_buffer_is_asked_for() {
    let (mut me, mut peer) = pair::<Single>();
    let region = Region::allocate(LONG_BYTES).unwrap();
    let (_, place) = Region::containing(region.start() as usize, LONG_BYTES).unwrap();
    let send = NormalSend {
        op: peer.program.begin(),
        channel: 1,
        immediate: 0,
        source: Source {
            memory: Pieces::one(region.start(), LONG_BYTES),
            region: Some(place),
        },
    };
    let post = me.post(LONG_BYTES);
    peer.tier.send_normal(me.address(), send, &mut peer.program);
    drop(peer);
    me.poll_until(|program| program.farewell().is_some());
    let error = OpError::PeerGone(Cause::Closed);
    let told = [
        Told::Arrived(0),
        Told::Received(post, Err(error)),
        Told::Gone(Cause::Closed),
    ];
    assert_eq!(me.program.told, told);
}

/// What was copied may be anything by now ([SHM-4.9]), though nobody has told of the end yet.
#[test]
fn nothing_is_copied_from_a_peer_that_is_closing() {
    let (mut me, mut peer) = pair::<Single>();
    let post = me.post(LONG_BYTES);
    peer.send(me.address(), LONG_BYTES, 0);
    me.poll_until(|program| program.heard(Told::Arrived(0)));
    let link = peer
        .tier
        .peers
        .get_mut(0)
        .and_then(|peer| peer.link.as_mut());
    let wishes = link.expect("they have met").pair.my_wishes();
    wishes.closing.store(1, Ordering::SeqCst);
    me.poll_until(|program| program.under_way() == 0);
    let error = OpError::PeerGone(Cause::Closed);
    assert_eq!(
        me.program.told,
        [Told::Arrived(0), Told::Received(post, Err(error))]
    );
}

/// There is no later for them.
#[test]
fn a_full_program_is_told_what_came_before_the_end_of_its_sender() {
    let (mut me, mut peer) = pair::<Single>();
    me.program.told_max = 0;
    let count = 100;
    for number in 0..count {
        peer.send_system(me.address(), 10, number);
    }
    drop(peer);
    me.poll_until(|program| program.farewell().is_some());
    let sent = (0..count).map(Told::System);
    let all: Vec<_> = sent.chain([Told::Gone(Cause::Closed)]).collect();
    assert_eq!(me.program.told, all);
}

#[test]
fn what_was_received_was_sent() {
    for len_bytes in [10, 1000, 100_000] {
        order::what_was_received_was_sent::<Single>(len_bytes);
    }
}
