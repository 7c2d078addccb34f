//! Packets by seed: most of them such as a peer sends, in order or not, and some that no peer ever would.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use bcl_mcp_model::ModelPort;
use bcl_testing::contents::bytes;
use bcl_types::Random;
use bcl_wire::{CheckKey, Flags, HEADER_LEN, Header, JobKeys, Kind, PAYLOAD_MAX, seal};

use crate::kernel::{PORT, keys};

/// Connections that are entered, and one that is not.
pub const CONNECTIONS: [u32; 4] = [1, 2, 1025, 77];
/// Windows that packets speak of; not all are entered.
pub const WINDOWS: u64 = 6;
/// Earlier packets that may come again.
const REMEMBERED: usize = 64;

/// A peer's packets by seed, and what they go on from.
pub struct Traffic {
    pub random: Random,
    job: Arc<JobKeys>,
    /// With which the peer seals, by connection.
    keys: Vec<CheckKey>,
    remembered: Vec<Vec<u8>>,
    /// Of a thousand sequenced packets so many come in their turn.
    in_turn: u64,
    /// Numbers go on slowly, so that many packets speak of the same message or operation.
    message: u32,
    /// The last PUT that was begun.
    begun: Header,
}

impl Traffic {
    pub fn new(seed: u64, job: Arc<JobKeys>) -> Self {
        let mut random = Random::new(seed);
        // Now and then close to where numbers begin anew.
        let message = match random.below(2) {
            0 => 1,
            _ => u32::MAX - 20,
        };
        let in_turn = [700, 950, 995][random.below(3) as usize];
        let keys = CONNECTIONS.map(|id| keys(&job, id).from_initiator);
        Self {
            random,
            job,
            keys: keys.to_vec(),
            remembered: Vec::new(),
            in_turn,
            message,
            begun: Header::new(Kind::Put),
        }
    }

    /// Whether something happens that does so once in `of` times.
    pub fn once_in(&mut self, of: u64) -> bool {
        self.random.below(of) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize]
    }

    /// A number of a message or operation that is spoken of about now.
    pub fn message(&mut self) -> u32 {
        if self.once_in(4) {
            self.message = self.message.wrapping_add(1);
        }
        let back = self.pick(&[0, 0, 0, 0, 1, 2, u32::MAX]);
        self.message.wrapping_sub(back)
    }

    /// The next datagram to a port that is in this state, and where it comes from.
    pub fn datagram(&mut self, port: &mut ModelPort) -> (SocketAddrV4, Vec<u8>) {
        let from = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 2), 20_009);
        if self.once_in(20) && !self.remembered.is_empty() {
            let which = self.random.below(self.remembered.len() as u64) as usize;
            return (from, self.remembered[which].clone());
        }
        if self.once_in(300) {
            let len = self.random.below(200) as usize;
            return (from, bytes(self.random.next_u64(), len));
        }
        let datagram = self.packet(port);
        if self.remembered.len() == REMEMBERED {
            let which = self.random.below(REMEMBERED as u64) as usize;
            self.remembered.swap_remove(which);
        }
        self.remembered.push(datagram.clone());
        (from, self.spoiled(datagram))
    }

    /// A packet that is sealed as it should be, though it may say what no packet does.
    fn packet(&mut self, port: &mut ModelPort) -> Vec<u8> {
        let which = self.pick(&[0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3]);
        let id = CONNECTIONS[which];
        let (mut header, payload) = self.content(port);
        let known = port.connection(id);
        let refused = known.as_ref().and_then(|known| known.refused);
        if let (Kind::Data, Some((message, _)), 0) = (header.kind, refused, self.random.below(3)) {
            header.message = message;
        }
        header.to_connection = id;
        header.from_connection = 0x0909_0000 + id;
        header.from_port = 9;
        header.to_port = PORT;
        header.rail = self.random.below(2) as u8;
        header.ack = self.random.next_u64() as u32;
        header.payload_len_bytes = payload.len() as u16;
        for (flag, of) in [(Flags::RETRANSMIT, 16), (Flags::ACK_NOW, 8)] {
            if self.once_in(of) {
                header.flags |= flag;
            }
        }
        if header.is_sequenced() {
            let expected = known.map_or(0, |known| known.expected);
            header.sequence = self.sequence(expected);
        }
        let mut head = header.to_bytes();
        if self.once_in(25) {
            let at = self.random.below(HEADER_LEN as u64) as usize;
            let changed = self.random.next_u64() as u8;
            head[at] = self.pick(&[head[at] ^ 1, head[at].wrapping_add(1), 0, 0xff, changed]);
        }
        seal(&mut head, &payload, &self.job, &self.keys[which]);
        [&head[..], &payload].concat()
    }

    fn sequence(&mut self, expected: u32) -> u32 {
        let near = self.random.below(12) as u32;
        let far = self.random.below(1100) as u32;
        if self.random.below(1000) < self.in_turn {
            return expected;
        }
        match self.random.below(28) {
            0..12 => expected.wrapping_add(near),
            12..18 => expected.wrapping_add(far),
            18..23 => expected.wrapping_sub(near),
            23..25 => expected.wrapping_sub(far),
            25 => expected.wrapping_add(1 << 31),
            26 => expected.wrapping_add(1023 + near),
            _ => self.random.next_u64() as u32,
        }
    }

    /// Damage on the way, and forgeries.
    fn spoiled(&mut self, mut datagram: Vec<u8>) -> Vec<u8> {
        let at = self.random.below(datagram.len() as u64) as usize;
        match self.random.below(100) {
            0..3 => datagram[at] ^= 1 << self.random.below(8),
            3 => datagram[56..64].copy_from_slice(&self.random.next_u64().to_le_bytes()),
            4 if self.once_in(2) => datagram.truncate(at),
            4 => datagram.extend(bytes(3, 1 + self.random.below(400) as usize)),
            _ => {}
        }
        datagram
    }

    fn payload(&mut self, max: u64) -> Vec<u8> {
        let len = match self.random.below(16) {
            0..7 => self.random.below(65),
            7..10 => 140 + self.random.below(24),
            10..12 => 1000 + self.random.below(40),
            12 => 1436 + self.random.below(100),
            13 => 1930 + self.random.below(30),
            14 => self.random.below(PAYLOAD_MAX as u64 + 1),
            _ => PAYLOAD_MAX as u64 - self.random.below(12),
        };
        bytes(self.random.next_u64(), len.min(max) as usize)
    }

    fn content(&mut self, port: &mut ModelPort) -> (Header, Vec<u8>) {
        match self.random.below(100) {
            0..28 => self.data(),
            28..48 => self.put(),
            48..58 => self.atomic(port),
            58..68 => self.get(),
            68..80 => self.body(),
            80..97 => self.other(),
            _ => {
                let kind = self.pick(Kind::ALL);
                let payload = self.payload(100);
                (Header::new(kind), payload)
            }
        }
    }

    /// Flags of a fragment that lies there.
    fn ends(header: &mut Header, len: u64) {
        if header.offset == 0 {
            header.flags |= Flags::FIRST;
        }
        if header.offset.wrapping_add(len) == header.length {
            header.flags |= Flags::LAST;
        }
    }

    fn data(&mut self) -> (Header, Vec<u8>) {
        let mut header = Header::new(Kind::Data);
        header.channel = self.pick(&[0, 0, 0, 0, 0, 3]);
        header.message = self.message();
        if self.once_in(12) {
            return (header, Vec::new()); // a filler
        }
        let payload = self.payload(8192);
        let len = payload.len() as u64;
        header.length = len;
        if self.once_in(60) {
            header.length = self.random.below(3); // more than there is, or less
        }
        if self.once_in(8) {
            header.flags |= Flags::UNRELIABLE;
        } else if self.once_in(2) && len > 0 {
            header.offset = self.random.below(8193 - len) * self.random.below(2);
            header.length = header.offset + len + self.random.below(8193 - header.offset - len);
        }
        Self::ends(&mut header, len);
        (header, payload)
    }

    /// A place in a window of 1, 3 or 200 KiB that often ends near an end of a block of its memory, or outside.
    fn place(&mut self, len: u64) -> u64 {
        let spread = self.random.below(300);
        match self.random.below(12) {
            0..4 => self.random.below(1024),
            4..7 => ((1 << 16) * (1 + self.random.below(3))).saturating_sub(len) + spread - 150,
            7..9 => self.random.below(200 << 10),
            9 => (200u64 << 10).saturating_sub(len + spread.saturating_sub(298)),
            10 => (200u64 << 10).saturating_sub(len).saturating_add(spread),
            _ => u64::MAX - self.random.below(2 * len + 2),
        }
    }

    fn operation(&mut self, kind: Kind) -> Header {
        let mut header = Header::new(kind);
        header.channel = self.random.below(WINDOWS) as u16;
        header.slot = self.random.below(3) as u16;
        header.message = self.message();
        header
    }

    fn put(&mut self) -> (Header, Vec<u8>) {
        let mut header = self.operation(Kind::Put);
        let mut payload = self.payload(PAYLOAD_MAX as u64);
        let len = payload.len() as u64;
        header.offset = self.place(len);
        header.length = len + self.random.below(40_000) * self.random.below(2);
        if len == 0 && header.length > 0 {
            payload.push(1);
        }
        if self.once_in(3) {
            // Another piece, perhaps the last.
            let begun = &self.begun;
            (header.channel, header.slot) = (begun.channel, begun.slot);
            (header.message, header.length) = (begun.message, begun.length);
            header.offset = begun.offset.wrapping_add(self.random.below(3000));
            payload.truncate(begun.length as usize);
            if self.once_in(2) {
                header.flags |= Flags::LAST;
            }
            return (header, payload);
        }
        for flag in [Flags::FIRST, Flags::LAST, Flags::NOTIFY] {
            if !self.once_in(3) {
                header.flags |= flag;
            }
        }
        if !header.flags.contains(Flags::LAST) {
            self.begun = header;
        }
        (header, payload)
    }

    fn atomic(&mut self, port: &mut ModelPort) -> (Header, Vec<u8>) {
        let mut header = self.operation(Kind::Atomic);
        header.offset = self.place(8) & if self.once_in(6) { !0 } else { !7 };
        let found = port.window(header.channel).and_then(|window| {
            let at = usize::try_from(header.offset).ok()?;
            window.memory.get(at..)?.first_chunk::<8>().copied()
        });
        let found = u64::from_le_bytes(found.unwrap_or_default());
        let word = self.random.next_u64();
        let words = match self.random.below(8) {
            0..4 => [1, self.pick(&[1, word]), 0],
            4 | 5 => [2, found, word],
            6 => [2, word, word],
            _ => [self.random.below(4), word, self.random.below(2)],
        };
        (
            header,
            words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        )
    }

    fn get(&mut self) -> (Header, Vec<u8>) {
        let mut header = self.operation(Kind::Get);
        let payload = self.payload(PAYLOAD_MAX as u64);
        header.length = payload.len() as u64;
        header.offset = self.place(header.length);
        if self.once_in(4) {
            return (header, Vec::new());
        }
        header.flags |= Flags::PADDED;
        (header, payload)
    }

    fn body(&mut self) -> (Header, Vec<u8>) {
        let mut header = Header::new(Kind::Body);
        header.channel = 3;
        header.message = self.message();
        let payload = self.payload(PAYLOAD_MAX as u64);
        let len = payload.len() as u64;
        header.offset = self.random.below(100_000) * self.random.below(2);
        header.length = header.offset + len + self.random.below(100_000) * self.random.below(2);
        if self.once_in(40) {
            header.offset = u64::MAX - self.random.below(len + 1);
        }
        Self::ends(&mut header, len);
        (header, payload)
    }

    fn other(&mut self) -> (Header, Vec<u8>) {
        let kinds = [
            Kind::Rts,
            Kind::Cts,
            Kind::Cts,
            Kind::Fin,
            Kind::Fin,
            Kind::Close,
            Kind::Ack,
            Kind::Nak,
            Kind::Answer,
            Kind::Probe,
            Kind::Probe,
            Kind::ProbeAnswer,
        ];
        let mut header = Header::new(self.pick(&kinds));
        header.message = self.message();
        let mut payload = Vec::new();
        match header.kind {
            Kind::Rts => header.channel = 3,
            Kind::Fin => header.length = self.random.below(6),
            Kind::Ack if self.once_in(2) => payload = bytes(5, 48),
            Kind::Nak => header.length = self.random.below(4),
            Kind::Answer => {
                header.length = self.random.below(5);
                payload = self.payload(PAYLOAD_MAX as u64);
            }
            Kind::Probe | Kind::ProbeAnswer => payload = self.payload(PAYLOAD_MAX as u64),
            _ => {}
        }
        (header, payload)
    }
}
