//! A host of a region of reflective memory: whatever three hosts say that know the key, mixed with what its own members do.
#![no_main]

use std::cell::RefCell;
use std::net::SocketAddr;
use std::num::NonZeroU32;

use bcl_mirror::{Config, Geometry, HostId, Memory, Mirror, Outgoing, Saved};
use bcl_types::{Span, Time};
use bcl_wire::{HEADER_LEN, JobKeys, seal};
use libfuzzer_sys::fuzz_target;

const GEOMETRY: Geometry = Geometry {
    members: 4,
    region_bytes: 8192,
    log_bytes: 4096,
};
const SECRET: [u8; 32] = [1; 32];
/// The host itself, and the first of the others.
const HOST: u64 = 9;
const OTHERS: std::ops::Range<u64> = 1..4;
/// Kinds of packets.
const HELLO: u8 = 1;
const CONFIRM: u8 = 3;
const KINDS: u8 = 19;
/// Where a header has the kind, the sender, the receiver, the first of three numbers, and the member.
const KIND: usize = 3;
const FROM: usize = 8;
const TO: usize = 16;
const NUMBERS: usize = 24;
const MEMBER: usize = 48;
/// More packets at once answer nothing that was said.
const ANSWERS_MAX: usize = 10_000;

/// The region, then the logs; what lies outside of the region panics.
struct Bytes(RefCell<Vec<u8>>);

impl Bytes {
    fn place(member: u16, position: u64) -> usize {
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
            *byte = self.0.borrow()[Self::place(member, at)];
        }
        true
    }

    fn set_tail(&self, _: u16, _: u64) {}

    fn write_log(&self, member: u16, position: u64, bytes: &[u8]) {
        assert!(bytes.len() as u64 <= GEOMETRY.log_bytes);
        for (at, byte) in (position..).zip(bytes) {
            self.0.borrow_mut()[Self::place(member, at)] = *byte;
        }
    }

    fn apply(&self, member: u16, position: u64, offset: u64, len_bytes: u64) {
        let mut bytes = vec![0; len_bytes as usize];
        self.read_log(member, position, &mut bytes);
        self.write(offset, &bytes);
    }

    fn set_applied(&self, _: u16, _: u64) {}

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

    fn save(&self, _: u16, _: &Saved) {}
    fn save_hosts(&self, _: &mut dyn Iterator<Item = (HostId, SocketAddr)>) {}
}

/// The host, and what it has said last.
struct World {
    mirror: Mirror,
    memory: Bytes,
    keys: JobKeys,
    now: Time,
    said: [u8; HEADER_LEN],
}

impl World {
    fn new() -> Self {
        let config = Config {
            host: HostId(HOST),
            geometry: GEOMETRY,
            secret: SECRET,
            places: Vec::new(),
            group: Some(SocketAddr::from(([239, 192, 0, 1], 1))),
            payload_bytes: 1408,
            fan_out: 2,
            patience: Span::from_ms(1),
            seed: 1,
        };
        let mut world = Self {
            mirror: Mirror::new(config, Time(0)),
            memory: Bytes(RefCell::new(vec![0; 8192 + 4 * 4096])),
            keys: JobKeys::derive(&SECRET),
            now: Time(1),
            said: [0; HEADER_LEN],
        };
        OTHERS.for_each(|host| world.meet(host));
        assert_eq!(world.mirror.hosts().count(), 3);
        world
    }

    /// Greets, and brings the token that it is answered with.
    fn meet(&mut self, host: u64) {
        let mut header = header_of(HELLO, host);
        let mut geometry = [0; 24];
        geometry[..8].copy_from_slice(&GEOMETRY.region_bytes.to_le_bytes());
        geometry[8..16].copy_from_slice(&GEOMETRY.log_bytes.to_le_bytes());
        geometry[16..18].copy_from_slice(&GEOMETRY.members.to_le_bytes());
        self.say(header, &geometry);
        header = self.said;
        header[KIND] = CONFIRM;
        header[FROM..TO].copy_from_slice(&host.to_le_bytes());
        header[TO..NUMBERS].copy_from_slice(&HOST.to_le_bytes());
        self.say(header, &[]);
    }

    fn say(&mut self, mut header: [u8; HEADER_LEN], payload: &[u8]) {
        header[..3].copy_from_slice(&[b'B', b'R', 1]);
        header[6..8].copy_from_slice(&(payload.len() as u16).to_le_bytes());
        seal(&mut header, payload, &self.keys, self.keys.setup());
        let datagram = [&header[..], payload].concat();
        let from = SocketAddr::from(([127, 0, 0, 1], u16::from(header[FROM])));
        self.mirror.handle(self.now, from, &datagram, &self.memory);
        self.answer();
    }

    fn answer(&mut self) {
        let mut out = Outgoing::default();
        for _ in 0..ANSWERS_MAX {
            let (mirror, memory) = (&mut self.mirror, &self.memory);
            if !mirror.poll_transmit(self.now, memory, &mut out) {
                while mirror.poll_event().is_some() {}
                return;
            }
            self.said.copy_from_slice(&out.bytes[..HEADER_LEN]);
        }
        panic!("no end of packets");
    }

    /// Time passes, or a process comes or ends.
    fn act(&mut self, what: u8, which: u8) {
        let member = u16::from(which) % GEOMETRY.members;
        match what {
            0 => drop(self.mirror.claim(self.now, member, &self.memory)),
            1 => self.mirror.unclaim(member),
            2 => self
                .mirror
                .end(self.now, member, NonZeroU32::new(9), &self.memory),
            _ => self.now += Span::from_ms(u64::from(which)),
        }
        self.mirror.on_timeout(self.now, &self.memory);
        self.answer();
    }
}

fn header_of(kind: u8, from: u64) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[KIND] = kind;
    header[FROM..TO].copy_from_slice(&from.to_le_bytes());
    header
}

// Each step is four bytes: what, by whom, which of the numbers are as the host has said, and how long the payload is that follows.
fuzz_target!(|input: &[u8]| {
    let mut world = World::new();
    let mut rest = input;
    while let Some(([what, who, numbers, len], after)) = rest.split_first_chunk() {
        rest = after;
        if *what >= KINDS {
            world.act(what % 4, *who);
            continue;
        }
        let mut header = header_of(what + 1, OTHERS.start + u64::from(who % 4));
        header[4] = who >> 2;
        header[MEMBER] = numbers >> 5;
        for (number, field) in header[NUMBERS..MEMBER].chunks_exact_mut(8).enumerate() {
            let at = NUMBERS + 8 * number;
            match numbers >> number & 1 {
                1 => field.copy_from_slice(&world.said[at..at + 8]),
                _ => {
                    let (own, after) = rest.split_at(rest.len().min(8));
                    field[..own.len()].copy_from_slice(own);
                    rest = after;
                }
            }
        }
        let (payload, after) = rest.split_at(rest.len().min(8 * usize::from(*len)));
        rest = after;
        world.say(header, payload);
    }
});
