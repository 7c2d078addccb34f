//! The records that wait for the program, in memory that is accounted for as the kernel does ([MCP-6.6]).

use bcl_layout::record::{PREFIX_BYTES, Record, SIZES, cost};

use crate::Packet;

const DISCARDED: u32 = 1 << 30;
/// What is reserved only to wake the program.
const WAKE_BYTES: usize = 8;

/// How a packet is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    /// With its payload.
    Whole,
    /// With its payload, to be kept until its turn comes.
    Early,
    /// Its payload or effect is in a window's memory, where the access began here.
    Placed(u32),
    /// Only how far the connection has come.
    Bare,
}

/// The records of one port, in the order of their packets.
#[derive(Debug)]
pub struct Ring {
    /// Longer than the ring, so that no record is cut by its end.
    bytes: Box<[u8]>,
    capacity_bytes: usize,
    written: usize,
    read: usize,
}

impl Ring {
    pub(crate) fn new(capacity_bytes: usize) -> Self {
        assert!(
            capacity_bytes.is_power_of_two(),
            "the length of a ring is a power of two"
        );
        Self {
            bytes: vec![0; capacity_bytes + SIZES[2]].into_boxed_slice(),
            capacity_bytes,
            written: 0,
            read: 0,
        }
    }

    /// How long it is.
    pub fn capacity_bytes(&self) -> usize {
        self.capacity_bytes
    }

    /// What the program has not given back.
    pub fn used_bytes(&self) -> usize {
        self.written - self.read
    }

    pub(crate) fn has_room(&self, payload_len: usize) -> bool {
        self.used_bytes() + cost(payload_len) < self.capacity_bytes
    }

    /// Whether not more than a quarter of it is used with one record more.
    pub(crate) fn is_quarter_enough(&self, payload_len: usize) -> bool {
        self.used_bytes() + cost(payload_len) <= self.capacity_bytes / 4
    }

    /// Adds a record; there is room for it.
    pub(crate) fn put(&mut self, packet: &Packet<'_>, put: Put, ack: u32, is_acked: bool) {
        let (place, payload) = match put {
            Put::Whole | Put::Early => (0, packet.payload),
            Put::Placed(place) => (place, &[][..]),
            Put::Bare => (0, &[][..]),
        };
        let Some(header) = packet.datagram.first_chunk() else {
            return;
        };
        let record = Record {
            from: packet.from.into(),
            is_placed: matches!(put, Put::Placed(_)),
            is_acked,
            is_early: put == Put::Early,
            is_bare: put == Put::Bare,
            ack,
            place,
            header,
            payload,
        };
        let len = cost(payload.len()) - PREFIX_BYTES;
        let at = self.reserve(len, 0);
        record.write(&mut self.bytes[at..at + len]);
    }

    /// Reserves and discards, which wakes whoever sleeps; false if there is no room.
    pub(crate) fn wake(&mut self) -> bool {
        let has_room = self.used_bytes() + PREFIX_BYTES + WAKE_BYTES < self.capacity_bytes;
        if has_room {
            self.reserve(WAKE_BYTES, DISCARDED);
        }
        has_room
    }

    fn reserve(&mut self, len_bytes: usize, mark: u32) -> usize {
        let at = self.written % self.capacity_bytes;
        let word = len_bytes as u32 | mark;
        self.bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        self.written += PREFIX_BYTES + len_bytes;
        at + PREFIX_BYTES
    }

    fn word(&self) -> u32 {
        let at = self.read % self.capacity_bytes;
        self.bytes[at..]
            .first_chunk()
            .map_or(0, |word| u32::from_le_bytes(*word))
    }

    /// The oldest record that was not released; discarded ones are passed over.
    pub fn next_record(&mut self) -> Option<Record<'_>> {
        while self.read < self.written && self.word() & DISCARDED != 0 {
            self.release();
        }
        if self.read == self.written {
            return None;
        }
        let at = self.read % self.capacity_bytes + PREFIX_BYTES;
        Record::parse(&self.bytes[at..at + self.word() as usize])
    }

    /// The program is done with the oldest record.
    pub fn release(&mut self) {
        if self.read < self.written {
            self.read += PREFIX_BYTES + (self.word() & !DISCARDED) as usize;
        }
    }
}
