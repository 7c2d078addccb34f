//! Whatever a fellow says who knows the key and has run wild, nothing here panics or goes on for ever.

use std::cell::RefCell;
use std::net::SocketAddr;

use bcl_types::{Random, Span, Time};

use crate::memory::Memory;
use crate::mirror::{Mirror, Outgoing};
use crate::names::{Config, Geometry, HostId};
use crate::packet::{Header, Kind, Making, flags};
use crate::saved::Saved;

const GEOMETRY: Geometry = Geometry {
    members: 4,
    region_bytes: 8192,
    log_bytes: 4096,
};

/// The region, then the logs; what lies outside of the region panics.
struct Bytes(RefCell<Vec<u8>>);

impl Bytes {
    fn log(member: u16, position: u64) -> usize {
        let start = GEOMETRY.region_bytes + u64::from(member) * GEOMETRY.log_bytes;
        (start + position % GEOMETRY.log_bytes) as usize
    }
}

impl Memory for Bytes {
    fn head(&self, _: u16) -> u64 {
        64
    }

    fn awaited(&self, _: u16) -> u64 {
        64
    }

    fn set_floor(&self, _: u16, _: u64) {}

    fn floor(&self, _: u16) -> u64 {
        0
    }

    fn read_log(&self, member: u16, position: u64, into: &mut [u8]) -> bool {
        for (at, byte) in (position..).zip(into) {
            *byte = self.0.borrow()[Self::log(member, at)];
        }
        true
    }

    fn write_log(&self, member: u16, position: u64, bytes: &[u8]) {
        assert!(bytes.len() as u64 <= GEOMETRY.log_bytes);
        for (at, byte) in (position..).zip(bytes) {
            self.0.borrow_mut()[Self::log(member, at)] = *byte;
        }
    }

    fn apply(&self, member: u16, position: u64, offset: u64, len_bytes: u64) {
        let mut bytes = vec![0; len_bytes as usize];
        self.read_log(member, position, &mut bytes);
        self.write(offset, &bytes);
    }

    fn set_applied(&self, _: u16, _: u64) {}
    fn set_tail(&self, _: u16, _: u64) {}
    fn save(&self, _: u16, _: &Saved) {}
    fn save_hosts(&self, _: &mut dyn Iterator<Item = (HostId, SocketAddr)>) {}

    fn read(&self, offset: u64, into: &mut [u8]) {
        let region = &self.0.borrow()[..GEOMETRY.region_bytes as usize];
        into.copy_from_slice(&region[offset as usize..][..into.len()]);
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        let region = &mut self.0.borrow_mut()[..GEOMETRY.region_bytes as usize];
        region[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn zero(&self, offset: u64, len_bytes: u64) {
        self.write(offset, &vec![0; len_bytes as usize]);
    }

    fn zeros(&self, offset: u64, end: u64) -> u64 {
        let region = &self.0.borrow()[offset as usize..end as usize];
        region.iter().take_while(|byte| **byte == 0).count() as u64
    }
}

/// Numbers that mean something, or nearly.
fn number(random: &mut Random, mirror: &Mirror, member: u16) -> u64 {
    let stream = mirror.streams.get(usize::from(member));
    match (random.below(12), stream) {
        (0..=2, Some(stream)) => return stream.epoch,
        (3..=5, Some(stream)) => return stream.have.wrapping_add(random.below(64)),
        (6, Some(stream)) => return stream.tail.wrapping_sub(random.below(64)),
        _ => {}
    }
    match random.below(6) {
        0 => 0,
        1 => random.below(20_000),
        2 => u64::MAX - random.below(20_000),
        3 => 1 << random.below(64),
        4 => 1 << 32 | random.below(4),
        _ => random.next_u64(),
    }
}

#[test]
fn nothing_a_fellow_says_does_harm() {
    let config = Config {
        host: HostId(5),
        geometry: GEOMETRY,
        secret: [1; 32],
        places: Vec::new(),
        group: Some("239.192.0.1:1".parse().unwrap()),
        payload_bytes: 1408,
        fan_out: 1,
        patience: Span::from_ms(1),
        seed: 1,
    };
    let from = "127.0.0.1:1".parse().unwrap();
    let mut random = Random::new(3);
    let (mut bytes, mut out) = (Vec::new(), Outgoing::default());
    for _ in 0..60 {
        let memory = Bytes(RefCell::new(vec![0; 8192 + 4 * 4096]));
        let mut mirror = Mirror::new(config.clone(), Time(0));
        let mut now = Time(0);
        for _ in 0..2000 {
            let kind = *random.pick(Kind::ALL);
            let member = random.below(5) as u16;
            let header = Header {
                flags: random.next_u64() as u16 & flags::ALL,
                to: random.one_in(2).then_some(HostId(5)),
                member,
                epoch: number(&mut random, &mirror, member),
                position: number(&mut random, &mirror, member),
                extra: number(&mut random, &mirror, member),
                ..Header::new(kind, HostId(1 + random.below(4)))
            };
            let mut making = Making::new(&mut bytes);
            for _ in 0..random.below(8) {
                making.put(&number(&mut random, &mirror, member).to_le_bytes());
            }
            if random.one_in(8) {
                let len = random.index(1100);
                making.put(&random.bytes(len));
            }
            making.close(header, &mirror.keys);
            mirror.handle(now, from, &bytes, &memory);
            // Greetings that were meant for somebody, so that the others of them are known.
            if random.one_in(20) {
                mirror.meet(header.host, from);
            }
            if random.one_in(50) {
                mirror.claim(now, random.below(4) as u16, &memory);
            }
            now += Span(random.below(3_000_000));
            mirror.on_timeout(now, &memory);
            let mut sent = 0;
            while mirror.poll_transmit(now, &memory, &mut out) {
                sent += 1;
                assert!(sent < 10_000, "no end of packets after {header:?}");
            }
        }
    }
}
