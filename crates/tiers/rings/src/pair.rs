//! The segment that a pair of ports shares: two directions, each with its rings ([SHM-2]).

use std::mem::offset_of;

use crate::bytes::{ByteReceiver, ByteSender};
use crate::cells::{Cell, CellReceiver, CellSender};
use bcl_os::mapping::Mapping;
use bcl_os::sync::{AtomicU32, AtomicU64, Ordering};

/// First word of every pair segment.
pub const MAGIC: u64 = u64::from_le_bytes(*b"BCLPAIR\0");

/// Sizes of the rings of one direction, chosen by the side that connects, checked by the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Cells, a power of two.
    pub cells: u32,
    /// Bytes of the system channel's pool, a multiple of 64.
    pub pool_bytes: u32,
    /// Bytes of the stream ring, a multiple of 64.
    pub stream_bytes: u32,
}

impl Geometry {
    /// What ports use: 140 KiB a pair, to which comes the peer's page of 12 KiB.
    pub const DEFAULT: Self = Self {
        cells: 128,
        pool_bytes: 28 << 10,
        stream_bytes: 32 << 10,
    };

    /// Whether the sizes are ones that this version can work with; they come from the peer ([SHM-2.2]).
    pub fn is_sound(&self) -> bool {
        let ring = |bytes: u32| bytes.is_multiple_of(64) && (16 << 10..=16 << 20).contains(&bytes);
        self.cells.is_power_of_two()
            && (16..=65536).contains(&self.cells)
            && ring(self.pool_bytes)
            && ring(self.stream_bytes)
    }

    fn direction_len(&self) -> usize {
        self.cells as usize * size_of::<Cell>()
            + self.pool_bytes as usize
            + self.stream_bytes as usize
    }

    /// Length of the whole segment.
    pub fn segment_len(&self) -> usize {
        HEADER_LEN + 2 * self.direction_len()
    }
}

/// Bytes before the first direction's rings.
pub const HEADER_LEN: usize = 4096;

/// What a receiver tells its sender: how far it has got. One cache line, written by the receiver only,
/// read by the sender only when it runs out of room or waits for acknowledgements.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct ReturnLine {
    /// Cells consumed.
    pub cells: AtomicU64,
    /// Bytes of the pool released.
    pub pool: AtomicU64,
    /// Bytes of the stream ring released.
    pub stream: AtomicU64,
    /// System messages released.
    pub system: AtomicU64,
    /// Normal messages handled: completed, or put off with a cell that says so.
    pub handled: AtomicU64,
    /// Pieces taken from the sender's stage.
    pub staged: AtomicU64,
}

impl ReturnLine {
    /// The line of a new segment.
    pub fn new() -> Self {
        Self {
            cells: AtomicU64::new(0),
            pool: AtomicU64::new(0),
            stream: AtomicU64::new(0),
            system: AtomicU64::new(0),
            handled: AtomicU64::new(0),
            staged: AtomicU64::new(0),
        }
    }
}

impl ReturnLine {
    /// Says that all normal messages before `number` are handled. Cells that say otherwise of one of
    /// them have been sent before ([SHM-4.4]).
    #[inline]
    pub fn tell_handled(&self, number: u64) {
        self.handled.store(number, Ordering::Release);
    }

    /// How many normal messages are handled. Whoever now takes the cells that lie in the ring has all
    /// that were sent before it was told.
    #[inline]
    pub fn handled(&self) -> u64 {
        self.handled.load(Ordering::Acquire)
    }

    /// Says that so many pieces have been read from where they lay on the sender's stage.
    #[inline]
    pub fn tell_staged(&self, pieces: u64) {
        self.staged.store(pieces, Ordering::Release);
    }

    /// How many pieces have been: where they lay can be written anew.
    #[inline]
    pub fn staged(&self) -> u64 {
        self.staged.load(Ordering::Acquire)
    }
}

impl Default for ReturnLine {
    fn default() -> Self {
        Self::new()
    }
}

/// What one end wants the other to know; written by that end only ([SHM-2.4]).
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Wishes {
    /// Not zero: while I sleep, wake me not only for cells, but also when you write your return line.
    pub returns: AtomicU32,
    /// Not zero: I am closing. What was copied from my memory and not yet reported is void.
    pub closing: AtomicU32,
}

#[repr(C)]
struct Header {
    magic: AtomicU64,
    version: AtomicU32,
    cells: AtomicU32,
    pool_bytes: AtomicU32,
    stream_bytes: AtomicU32,
    _pad: [u64; 5],
    wishes: [Wishes; 2],
    returns: [ReturnLine; 2],
}

const _: () = assert!(cfg!(loom) || size_of::<Header>() <= HEADER_LEN);

/// Which end of the pair this process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The end that connected and made the segment; sends in direction 0.
    Connector = 0,
    /// The end that was connected to; sends in direction 1.
    Acceptor = 1,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Connector => Self::Acceptor,
            Self::Acceptor => Self::Connector,
        }
    }
}

/// One end's view of a pair segment. Owns the mapping; the rings point into it.
#[derive(Debug)]
pub struct PairEnd {
    /// Cells to the peer.
    pub cells_out: CellSender,
    /// Payload of system messages to the peer.
    pub pool_out: ByteSender,
    /// Payload of normal messages to the peer.
    pub stream_out: ByteSender,
    /// Cells from the peer.
    pub cells_in: CellReceiver,
    /// Payload of system messages from the peer.
    pub pool_in: ByteReceiver,
    /// Payload of normal messages from the peer.
    pub stream_in: ByteReceiver,
    side: Side,
    header: *const Header,
    _mapping: Mapping,
}

// SAFETY: the header is in memory that `_mapping` keeps mapped; its fields are atomics.
unsafe impl Send for PairEnd {}

impl PairEnd {
    /// Builds one end on a mapping of [`Geometry::segment_len`] bytes that is zero at the start.
    ///
    /// # Panics
    /// If the mapping is shorter than the geometry asks, or the geometry is not sound: the caller checks both.
    pub fn new(mapping: Mapping, geometry: Geometry, side: Side) -> Self {
        assert!(geometry.is_sound() && mapping.len_bytes() >= geometry.segment_len());
        let base = mapping.start().as_ptr();
        let header = base.cast::<Header>().cast_const();
        let out = RingPointers::of(base, geometry, side);
        let back = RingPointers::of(base, geometry, side.other());
        // SAFETY: the mapping is as long as the geometry says and lives as long as the returned value;
        // each process builds one end of a side, so each ring has one sender and one receiver.
        unsafe {
            Self {
                cells_out: CellSender::new(out.cells, geometry.cells, out.line),
                pool_out: ByteSender::new(
                    out.pool,
                    geometry.pool_bytes,
                    &raw const (*out.line).pool,
                ),
                stream_out: ByteSender::new(
                    out.stream,
                    geometry.stream_bytes,
                    &raw const (*out.line).stream,
                ),
                cells_in: CellReceiver::new(back.cells, geometry.cells, back.line),
                pool_in: ByteReceiver::new(
                    back.pool,
                    geometry.pool_bytes,
                    &raw const (*back.line).pool,
                ),
                stream_in: ByteReceiver::new(
                    back.stream,
                    geometry.stream_bytes,
                    &raw const (*back.line).stream,
                ),
                side,
                header,
                _mapping: mapping,
            }
        }
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping starts with a header and lives as long as `self`.
        unsafe { &*self.header }
    }

    /// Writes magic, version of the layout and sizes; the connecting side does it before it hands the segment out.
    pub fn label(&self, version: u32, geometry: Geometry) {
        let header = self.header();
        header.magic.store(MAGIC, Ordering::Relaxed);
        header.version.store(version, Ordering::Relaxed);
        header.cells.store(geometry.cells, Ordering::Relaxed);
        header
            .pool_bytes
            .store(geometry.pool_bytes, Ordering::Relaxed);
        header
            .stream_bytes
            .store(geometry.stream_bytes, Ordering::Relaxed);
    }

    /// The line where this end says how far it has got.
    pub fn my_returns(&self) -> &ReturnLine {
        &self.header().returns[self.side.other() as usize]
    }

    /// The line where the peer says how far it has got.
    pub fn peer_returns(&self) -> &ReturnLine {
        &self.header().returns[self.side as usize]
    }

    /// What this end wishes while it sleeps.
    pub fn my_wishes(&self) -> &Wishes {
        &self.header().wishes[self.side as usize]
    }

    /// What the peer wishes while it sleeps.
    pub fn peer_wishes(&self) -> &Wishes {
        &self.header().wishes[self.side.other() as usize]
    }
}

/// Where the rings of one direction lie; the direction is named by its sending side.
struct RingPointers {
    cells: *const Cell,
    pool: *mut u8,
    stream: *mut u8,
    line: *const ReturnLine,
}

impl RingPointers {
    fn of(base: *mut u8, geometry: Geometry, sender: Side) -> Self {
        let start = HEADER_LEN + sender as usize * geometry.direction_len();
        let pool = start + geometry.cells as usize * size_of::<Cell>();
        let stream = pool + geometry.pool_bytes as usize;
        let line = offset_of!(Header, returns) + sender as usize * size_of::<ReturnLine>();
        Self {
            cells: base.wrapping_add(start).cast::<Cell>().cast_const(),
            pool: base.wrapping_add(pool),
            stream: base.wrapping_add(stream),
            line: base.wrapping_add(line).cast::<ReturnLine>().cast_const(),
        }
    }
}
