//! The page of a port: what everybody may read and only its owner writes ([SHM-5]).
//!
//! Peers look here whether the port sleeps and what its windows are; `bcl stat` reads the counters.

use bcl_os::mapping::Mapping;
use bcl_os::sync::{AtomicU32, AtomicU64, Ordering};
use bcl_types::Device;

/// Version of all layouts of `spec/shm.md`, that of this page among them ([SHM-9.1]).
pub const LAYOUT_VERSION: u32 = 2;
/// Length of the page's segment.
pub const PAGE_LEN: usize = 12_288;
/// First word of every port page.
pub const MAGIC: u64 = u64::from_le_bytes(*b"BCLPORT\0");
/// Open channels that a port can have.
pub const WINDOWS: usize = 64;
/// Connections to other nodes that a port describes.
pub const CONNECTIONS: usize = 60;
/// Room for counters in the page.
pub const COUNTER_SLOTS: usize = 64;

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident => $text:literal),+ $(,)?) => {
        /// What a port counts. Declared once: `bcl stat`, its JSON names and its help come from here.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Counter { $($(#[doc = $doc])+ $name),+ }

        impl Counter {
            /// All of them, in the order they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Stable name in JSON and tables.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }

            /// One sentence about it.
            pub fn help(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+)),+ }
            }
        }
    };
}

counters! {
    /// Messages sent on system channels.
    SystemSent => "system_sent",
    /// Messages received on the system channel.
    SystemReceived => "system_received",
    /// Messages sent on normal channels and completed.
    NormalSent => "normal_sent",
    /// Messages received on normal channels.
    NormalReceived => "normal_received",
    /// Payload bytes sent.
    BytesSent => "bytes_sent",
    /// Payload bytes received.
    BytesReceived => "bytes_received",
    /// One-sided operations started here.
    RmaOut => "rma_out",
    /// One-sided operations that the background thread served for others.
    RmaServed => "rma_served",
    /// Operations that ended with an error.
    Failed => "failed",
    /// Connections refused because the job key differs.
    RefusedKey => "refused_key",
    /// Connections refused because the other user is not allowed.
    RefusedUid => "refused_uid",
    /// Connections refused because the other side speaks another version.
    RefusedVersion => "refused_version",
    /// Connections refused or cut because the peer broke the protocol.
    ProtocolErrors => "protocol_errors",
    /// Sends that wait for room, a post or a connection.
    PendingSends => "pending_sends",
    /// Buffers posted and not yet filled.
    Posted => "posted",
    /// Messages that arrived before a buffer was posted for them.
    Unexpected => "unexpected",
    /// System messages that the program has not released.
    Unreleased => "unreleased",
    /// Times the port slept for want of events.
    Sleeps => "sleeps",
    /// Times the port gave its core away while waiting.
    Yields => "yields",
    /// Times the port woke a sleeping peer.
    BellsRung => "bells_rung",
    /// Peers connected now.
    Peers => "peers",
    /// Bytes of shared memory held for the connected peers.
    PeerMemory => "peer_memory_bytes",
    /// Packets sent to other nodes.
    NetPacketsOut => "net_packets_out",
    /// Packets of other nodes that were accepted as authentic.
    NetPacketsIn => "net_packets_in",
    /// Packets that were sent again.
    NetRetransmits => "net_retransmits",
    /// Times that nothing was heard for so long that a packet was sent again.
    NetTimeouts => "net_timeouts",
    /// Packets dropped because they are no packets of BCL, or damaged in a way that shows.
    NetDropMalformed => "net_drop_malformed",
    /// Packets dropped because their keyed check is wrong: damaged, forged, or of another job.
    NetDropCheck => "net_drop_check",
    /// Packets dropped because they say themselves that they are of another job.
    NetDropJob => "net_drop_job",
    /// Packets dropped because they are of another version.
    NetDropVersion => "net_drop_version",
    /// Packets dropped because there is no such connection, or not any more.
    NetDropStale => "net_drop_stale",
    /// Packets dropped because they had come before.
    NetDropDuplicate => "net_drop_duplicate",
    /// Packets dropped for want of room; they are sent again.
    NetDropRoom => "net_drop_room",
    /// Unreliable messages of other nodes dropped for want of room.
    NetDropUnreliable => "net_drop_unreliable",
    /// Unreliable messages that the port did not send for want of room or of a connection.
    UnreliableUnsent => "unreliable_unsent",
}

const _: () = assert!(Counter::ALL.len() <= COUNTER_SLOTS);

/// What a port says about one of its open channels.
#[repr(C)]
#[derive(Debug)]
pub struct WindowEntry {
    /// Changes with every bind and unbind; odd while bound.
    pub generation: AtomicU64,
    /// Bytes that may be reached.
    pub len: AtomicU64,
    /// Access bits.
    pub access: AtomicU64,
    _pad: u64,
}

/// What a port says about one of its connections to other nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connection {
    /// IPv4 address of the peer's node, as a number; 0 for no connection.
    pub node: u32,
    /// The peer's port number.
    pub port: u16,
    /// What moves its packets; `None` if the page says nothing known.
    pub device: Option<Device>,
    /// Smoothed round trip in ns.
    pub round_trip_ns: u64,
    /// Packets that may be under way.
    pub congestion_window_packets: u64,
    /// Packets that are under way.
    pub in_flight_packets: u64,
    /// Packets sent.
    pub packets_out: u64,
    /// Packets received.
    pub packets_in: u64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Longest datagram on the way.
    pub datagram_bytes: u64,
    /// Packets dropped because their keyed check was wrong.
    pub drop_check: u64,
    /// Packets dropped because they had come before.
    pub drop_duplicate: u64,
    /// Packets dropped because they came further ahead than there is room to remember.
    pub drop_beyond: u64,
    /// Packets dropped for want of room; they are sent again.
    pub drop_room: u64,
    /// Unreliable messages dropped for want of room.
    pub drop_unreliable: u64,
}

impl Connection {
    /// As words of the page, in the order of [SHM-5.4].
    fn to_words(self) -> [u64; 14] {
        [
            u64::from(self.node) << 16 | u64::from(self.port),
            self.round_trip_ns,
            self.congestion_window_packets,
            self.in_flight_packets,
            self.packets_out,
            self.packets_in,
            self.retransmits,
            self.datagram_bytes,
            self.drop_check,
            self.drop_duplicate,
            self.drop_beyond,
            self.drop_room,
            self.drop_unreliable,
            self.device.map_or(0, |device| device.number().into()),
        ]
    }

    fn from_words(words: [u64; 14]) -> Self {
        let [
            peer,
            round_trip_ns,
            congestion_window_packets,
            in_flight_packets,
            packets_out,
            packets_in,
            retransmits,
            datagram_bytes,
            drop_check,
            drop_duplicate,
            drop_beyond,
            drop_room,
            drop_unreliable,
            device,
        ] = words;
        Self {
            node: (peer >> 16) as u32,
            port: peer as u16,
            device: Device::from_number(device),
            round_trip_ns,
            congestion_window_packets,
            in_flight_packets,
            packets_out,
            packets_in,
            retransmits,
            datagram_bytes,
            drop_check,
            drop_duplicate,
            drop_beyond,
            drop_room,
            drop_unreliable,
        }
    }
}

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
    windows: [WindowEntry; WINDOWS],
    _pad4: [u64; 128],
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

    /// What is said about open channel `index`; `None` if there is no such number.
    #[inline]
    pub fn window(&self, index: usize) -> Option<&WindowEntry> {
        self.layout().windows.get(index)
    }
}
