//! The page of a port: what everybody may read and only its owner writes ([SHM-5]).
//!
//! Peers look here whether the port sleeps and what its windows are; `bcl stat` reads the counters.

mod connection;
mod counter;

use crate::copies::{COPY_CLASSES, CopyCost, CopyWay};
use bcl_os::mapping::Mapping;
use bcl_os::sync::{AtomicU32, AtomicU64, Ordering};

pub use connection::Connection;
pub use counter::{COUNTER_SLOTS, Counter, CounterKind};

/// Version of all layouts of `spec/shm.md`, that of this page among them ([SHM-9.1]).
pub const LAYOUT_VERSION: u32 = 5;
/// Length of the page's segment.
pub const PAGE_LEN: usize = 12_288;
/// First word of every port page.
pub const MAGIC: u64 = u64::from_le_bytes(*b"BCLPORT\0");
/// Words that tell of changes of open channels: each speaks for the channels whose numbers differ by multiples of this.
pub const WINDOW_EPOCHS: usize = 256;
/// Connections to other nodes that a port describes.
pub const CONNECTIONS: usize = 60;

/// What each way to copy has cost for each class of messages.
type CopyCosts = [[AtomicU32; CopyWay::ALL.len()]; COPY_CLASSES];

#[repr(C)]
struct ConnectionEntry([AtomicU64; 16]);

/// Who a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// IPv4 address of the node, as a number.
    pub node: u32,
    /// Port number.
    pub port: u16,
    /// Process, as numbered in its own pid namespace.
    pub pid: u32,
    /// User.
    pub uid: u32,
}

#[repr(C)]
struct Layout {
    magic: AtomicU64,
    version: AtomicU32,
    node: AtomicU32,
    port: AtomicU32,
    pid: AtomicU32,
    uid: AtomicU32,
    /// 1 when senders have to fence because the owner cannot use membarrier.
    senders_fence: AtomicU32,
    _pad0: [u64; 4],
    /// Odd while the owner sleeps.
    sleep_epoch: AtomicU64,
    _pad1: [u64; 7],
    _pad2: [u64; 16],
    counters: [AtomicU64; COUNTER_SLOTS],
    _pad3: [u64; 32],
    window_epochs: [AtomicU64; WINDOW_EPOCHS],
    copy_costs: CopyCosts,
    _pad4: [u64; 110],
    connections: [ConnectionEntry; CONNECTIONS],
}

const _: () = assert!(cfg!(loom) || size_of::<Layout>() <= PAGE_LEN);
const _: () = assert!(cfg!(loom) || std::mem::offset_of!(Layout, connections) == 4096);

/// A mapped port page, one's own or a peer's.
#[derive(Debug)]
pub struct Page {
    mapping: Mapping,
}

impl Page {
    /// Takes over a mapping of [`PAGE_LEN`] bytes.
    ///
    /// # Panics
    /// If it is shorter: the caller has checked.
    pub fn new(mapping: Mapping) -> Self {
        assert!(mapping.len_bytes() >= PAGE_LEN);
        Self { mapping }
    }

    fn layout(&self) -> &Layout {
        // SAFETY: the mapping is at least a `Layout` long, page-aligned, and all fields are atomics.
        unsafe { self.mapping.start().cast::<Layout>().as_ref() }
    }

    /// The owner labels its page before it shows it to anybody.
    pub fn label(&self, identity: Identity) {
        let layout = self.layout();
        layout.version.store(LAYOUT_VERSION, Ordering::Relaxed);
        layout.node.store(identity.node, Ordering::Relaxed);
        layout
            .port
            .store(u32::from(identity.port), Ordering::Relaxed);
        layout.pid.store(identity.pid, Ordering::Relaxed);
        layout.uid.store(identity.uid, Ordering::Relaxed);
        layout.magic.store(MAGIC, Ordering::Release);
    }

    /// Whose page it says it is; `None` if it is not a page of this version.
    pub fn identity(&self) -> Option<Identity> {
        let layout = self.layout();
        let known = layout.magic.load(Ordering::Acquire) == MAGIC
            && layout.version.load(Ordering::Relaxed) == LAYOUT_VERSION;
        known.then(|| Identity {
            node: layout.node.load(Ordering::Relaxed),
            port: layout.port.load(Ordering::Relaxed) as u16,
            pid: layout.pid.load(Ordering::Relaxed),
            uid: layout.uid.load(Ordering::Relaxed),
        })
    }

    /// Odd while the owner sleeps; it changes at each falling asleep and waking up.
    #[inline]
    pub fn sleep_epoch(&self) -> &AtomicU64 {
        &self.layout().sleep_epoch
    }

    /// Whether senders to this port need a fence of their own.
    pub fn senders_fence(&self) -> &AtomicU32 {
        &self.layout().senders_fence
    }

    /// One counter.
    #[inline]
    pub fn counter(&self, counter: Counter) -> &AtomicU64 {
        &self.layout().counters[counter as usize]
    }

    /// Describes connection `index`; those beyond the table are not described.
    pub fn describe(&self, index: usize, connection: &Connection) {
        let Some(ConnectionEntry(words)) = self.layout().connections.get(index) else {
            return;
        };
        for (word, value) in words.iter().zip(connection.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// The connections that are described. Written with no order: a line may be half of one moment and half of the next.
    pub fn connections(&self) -> impl Iterator<Item = Connection> + '_ {
        let entries = self.layout().connections.iter();
        entries
            .map(|ConnectionEntry(words)| {
                let load = |index: usize| words[index].load(Ordering::Relaxed);
                Connection::from_words(std::array::from_fn(load))
            })
            .filter(|connection| connection.node != 0)
    }

    /// Tells what messages of this class have cost by each way, in picoseconds for a KiB; 0: not known ([SHM-5.5]).
    pub fn tell_copy_cost(&self, class: usize, ps_per_kib: [u32; CopyWay::ALL.len()]) {
        if let Some(words) = self.layout().copy_costs.get(class) {
            for (word, ps) in words.iter().zip(ps_per_kib) {
                word.store(ps, Ordering::Relaxed);
            }
        }
    }

    /// What the owner has told of that.
    pub fn copy_costs(&self) -> impl Iterator<Item = CopyCost> + '_ {
        let classes = self.layout().copy_costs.iter().enumerate();
        classes.map(|(class, words)| {
            let load = |word: &AtomicU32| word.load(Ordering::Relaxed);
            CopyCost::of(class, words.each_ref().map(load))
        })
    }

    /// Changes whenever memory is bound to an open channel of this number, or taken away, or to one that shares its word; 0
    /// if that has never happened ([SHM-5.3]).
    #[inline]
    pub fn window_epoch(&self, window: u16) -> &AtomicU64 {
        &self.layout().window_epochs[usize::from(window) % WINDOW_EPOCHS]
    }
}
