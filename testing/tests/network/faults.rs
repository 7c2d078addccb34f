//! The fault injector itself: each fault is seen by a pair of sockets as often as it was asked for.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use bcl_testing::contents;
use bcl_testing::netns::{Cluster, Faults, Tally, cluster, switched};

const PACKETS: u64 = 20_000;
const LEN: usize = 200;
/// Packets between two looks at what has come.
const BURST: u64 = 32;
/// Packets that may be somewhere: whoever holds back those that are late has a queue as well.
const MOST_ON_THE_WAY: u64 = 1000;
/// Longer than any packet is late.
const LAST_WAIT: Duration = Duration::from_millis(300);

/// What a receiver saw of packets that were numbered.
#[derive(Default)]
struct Seen {
    taken: u64,
    copies: HashMap<u64, u32>,
    spoilt: u64,
    overtaken: u64,
    latest: u64,
}

impl Seen {
    fn take(&mut self, packet: &[u8]) {
        self.taken += 1;
        let number = u64::from_le_bytes(packet[..8].try_into().expect("8 bytes are 8 bytes"));
        if packet != content(number) {
            self.spoilt += 1;
            return;
        }
        *self.copies.entry(number).or_default() += 1;
        self.overtaken += u64::from(number < self.latest);
        self.latest = self.latest.max(number);
    }

    fn arrived(&self) -> u64 {
        self.copies.len() as u64
    }

    fn twice(&self) -> u64 {
        self.copies.values().filter(|copies| **copies > 1).count() as u64
    }
}

fn content(number: u64) -> Vec<u8> {
    let mut packet = number.to_le_bytes().to_vec();
    packet.extend(contents::bytes(number, LEN - 8));
    packet
}

/// Sends numbered packets from the first host to the second, over IPv4 or IPv6.
fn send_all(cluster: &Cluster, version: u8) -> Seen {
    let [sender, receiver] = [0, 1].map(|index| {
        let host = cluster.host(index);
        let address = match version {
            4 => (host.address, 7000).into(),
            _ => std::net::SocketAddr::from((host.address_v6, 7000)),
        };
        let bound = host.enter(|| UdpSocket::bind(address));
        bound.expect("the host is there").expect("the port is free")
    });
    sender
        .connect(receiver.local_addr().expect("it is bound"))
        .expect("it can be reached");
    make_room(&receiver);
    receiver
        .set_nonblocking(true)
        .expect("a socket need not block");
    // Packets that have reached the second host, with those that were doubled, and without those that were lost.
    let reached = || {
        let tally = cluster.tally(1).expect("it counts");
        (tally.seen, tally.seen + tally.duplicated - tally.lost)
    };
    let (before, arrived_before) = reached();
    let mut seen = Seen::default();
    for number in 0..PACKETS {
        sender.send(&content(number)).expect("a packet leaves");
        if number % BURST == BURST - 1 {
            // On a busy machine the far end comes later to it, and it has a queue of its own.
            while reached().0 < before + number {
                std::thread::yield_now();
            }
            let patience = Instant::now() + LAST_WAIT;
            drain(&receiver, &mut seen);
            while reached().1 - arrived_before > seen.taken + MOST_ON_THE_WAY
                && Instant::now() < patience
            {
                std::thread::yield_now();
                drain(&receiver, &mut seen);
            }
        }
    }
    receiver.set_nonblocking(false).expect("a socket may block");
    receiver
        .set_read_timeout(Some(LAST_WAIT))
        .expect("a socket may wait");
    drain(&receiver, &mut seen);
    seen
}

/// For all packets at once: what was late comes when it wants to.
fn make_room(receiver: &UdpSocket) {
    let room = PACKETS as i32 * 1024;
    // SAFETY: the value is as long as said.
    let done = unsafe {
        libc::setsockopt(
            receiver.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            (&raw const room).cast(),
            size_of_val(&room) as u32,
        )
    };
    assert_eq!(done, 0, "root may have a socket with {room} bytes of room");
}

fn drain(receiver: &UdpSocket, seen: &mut Seen) {
    let mut buffer = [0; 2 * LEN];
    loop {
        match receiver.recv(&mut buffer) {
            Ok(len) => seen.take(&buffer[..len]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("the receiver: {error}"),
        }
    }
}

/// Six standard deviations of so many packets at 10 % are 255; the seed makes the outcome the same each time.
fn assert_about_a_tenth(count: u64) {
    assert!((1745..=2255).contains(&count), "{count} of {PACKETS}");
}

/// Two hosts joined by a cable, where faults happen at the host, or by a switch, where they happen in it; and the
/// version of IP between them.
fn places() -> impl Iterator<Item = (Cluster, u8)> {
    let joined = [|| cluster(2), switched];
    let places = joined.into_iter().flat_map(|join| [(join, 4), (join, 6)]);
    places.filter_map(|(join, version)| Some((join()?, version)))
}

fn with_faults(mut cluster: Cluster, faults: &Faults, version: u8) -> (Seen, Tally) {
    cluster.inject(1, faults).expect("the injector works");
    let seen = send_all(&cluster, version);
    let tally = cluster.tally(1).expect("the injector counts");
    assert_eq!(tally.seen, PACKETS);
    (seen, tally)
}

const TENTH_PPM: u32 = 100_000;

#[test]
fn without_faults_everything_arrives_once_and_in_order() {
    for (cluster, version) in places() {
        let (seen, tally) = with_faults(cluster, &Faults::NONE, version);
        assert_eq!(
            (seen.arrived(), seen.twice(), seen.spoilt, seen.overtaken),
            (PACKETS, 0, 0, 0)
        );
        assert_eq!(tally.lost + tally.corrupted, 0);
    }
}

#[test]
fn a_tenth_is_lost() {
    for (cluster, version) in places() {
        let (seen, tally) = with_faults(cluster, &Faults::loss(TENTH_PPM, 1), version);
        assert_about_a_tenth(tally.lost);
        assert_eq!(seen.arrived(), PACKETS - tally.lost);
    }
}

#[test]
fn a_tenth_is_corrupted_and_no_checksum_hides_it() {
    let faults = Faults {
        corruption_ppm: TENTH_PPM,
        seed: 2,
        ..Faults::NONE
    };
    for (cluster, version) in places() {
        let (seen, tally) = with_faults(cluster, &faults, version);
        assert_about_a_tenth(tally.corrupted);
        assert_eq!(seen.spoilt, tally.corrupted);
        assert_eq!(seen.arrived(), PACKETS - tally.corrupted);
    }
}

#[test]
fn a_tenth_arrives_twice() {
    let faults = Faults {
        duplication_ppm: TENTH_PPM,
        seed: 3,
        ..Faults::NONE
    };
    for (cluster, version) in places() {
        let (seen, tally) = with_faults(cluster, &faults, version);
        assert_about_a_tenth(tally.duplicated);
        assert_eq!(seen.twice(), tally.duplicated);
        assert_eq!(seen.arrived(), PACKETS);
    }
}

#[test]
fn a_tenth_is_late_and_overtaken() {
    let faults = Faults {
        lateness_ppm: TENTH_PPM,
        late_by: Duration::from_millis(2)..=Duration::from_millis(9),
        seed: 4,
        ..Faults::NONE
    };
    for (cluster, version) in places() {
        let (seen, tally) = with_faults(cluster, &faults, version);
        assert_about_a_tenth(tally.late);
        assert_eq!((seen.arrived(), seen.twice(), seen.spoilt), (PACKETS, 0, 0));
        assert!(
            seen.overtaken > tally.late / 2,
            "{} overtaken",
            seen.overtaken
        );
    }
}

/// All held back by the same time: nothing overtakes anything.
#[test]
fn everything_is_late_in_order() {
    let faults = Faults {
        lateness_ppm: 1_000_000,
        late_by: Duration::from_millis(1)..=Duration::from_millis(1),
        ..Faults::NONE
    };
    for (cluster, version) in places() {
        let (seen, tally) = with_faults(cluster, &faults, version);
        assert_eq!(tally.late, PACKETS);
        assert_eq!((seen.arrived(), seen.overtaken), (PACKETS, 0));
    }
}

#[test]
fn all_faults_at_once_and_then_none() {
    let Some(mut cluster) = cluster(3) else {
        return;
    };
    cluster.inject(1, &Faults::all(10, 5)).expect("it works");
    let seen = send_all(&cluster, 4);
    let bad = cluster.tally(1).expect("it counts");
    for count in [bad.lost, bad.corrupted, bad.duplicated, bad.late] {
        // Fewer are corrupted than lost, for what is lost is not corrupted.
        assert!((1500..=2255).contains(&count), "{bad:?}");
    }
    assert!(seen.arrived() >= PACKETS - bad.lost - bad.corrupted);
    cluster.inject(1, &Faults::NONE).expect("it works");
    let seen = send_all(&cluster, 4);
    assert_eq!((seen.arrived(), seen.spoilt), (PACKETS, 0));
}
