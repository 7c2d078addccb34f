//! The counters of a port: what each is, what kind of number, its name and its words.

/// Room for counters in the page.
pub const COUNTER_SLOTS: usize = 64;

/// What the number of a counter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterKind {
    /// How much so far: it only grows.
    Total,
    /// How much at this moment; a rate of it would say nothing.
    Level,
}

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $kind:ident $name:ident => $text:literal),+ $(,)?) => {
        /// What a port counts. Declared once: `bcl stat`, its JSON names and its help come from here. New ones are added at the
        /// end ([SHM-5.2]).
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
                match self { $(Self::$name => concat!($($doc),+).trim_ascii()),+ }
            }

            /// What its number says.
            pub fn kind(self) -> CounterKind {
                match self { $(Self::$name => CounterKind::$kind),+ }
            }
        }
    };
}

counters! {
    /// Messages sent on system channels.
    Total SystemSent => "system_sent",
    /// Messages received on the system channel.
    Total SystemReceived => "system_received",
    /// Messages sent on normal channels and completed.
    Total NormalSent => "normal_sent",
    /// Messages received on normal channels.
    Total NormalReceived => "normal_received",
    /// Payload bytes sent.
    Total BytesSent => "bytes_sent",
    /// Payload bytes received.
    Total BytesReceived => "bytes_received",
    /// One-sided operations started here.
    Total RmaOut => "rma_out",
    /// One-sided operations that the background thread served for others.
    Total RmaServed => "rma_served",
    /// Operations that ended with an error.
    Total Failed => "failed",
    /// Connections refused because the job key differs.
    Total RefusedKey => "refused_key",
    /// Connections refused because the other user is not allowed.
    Total RefusedUid => "refused_uid",
    /// Connections refused because the other side speaks another version.
    Total RefusedVersion => "refused_version",
    /// Connections refused or cut because the peer broke the protocol.
    Total ProtocolErrors => "protocol_errors",
    /// Sends that wait for room, a post or a connection.
    Level PendingSends => "pending_sends",
    /// Buffers posted and not yet filled.
    Level Posted => "posted",
    /// Messages that arrived before a buffer was posted for them.
    Level Unexpected => "unexpected",
    /// System messages that the program has not released.
    Level Unreleased => "unreleased",
    /// Times the port slept for want of events.
    Total Sleeps => "sleeps",
    /// Times the port gave its core away while waiting.
    Total Yields => "yields",
    /// Times the port woke a sleeping peer.
    Total BellsRung => "bells_rung",
    /// Peers connected now.
    Level Peers => "peers",
    /// Bytes of shared memory held for the connected peers.
    Level PeerMemory => "peer_memory_bytes",
    /// Packets sent to other nodes.
    Total NetPacketsOut => "net_packets_out",
    /// Packets of other nodes that were accepted as authentic.
    Total NetPacketsIn => "net_packets_in",
    /// Packets that were sent again.
    Total NetRetransmits => "net_retransmits",
    /// Times that nothing was heard for so long that a packet was sent again.
    Total NetTimeouts => "net_timeouts",
    /// Packets dropped because they are no packets of BCL, or damaged in a way that shows.
    Total NetDropMalformed => "net_drop_malformed",
    /// Packets dropped because their keyed check is wrong: damaged, forged, or of another job.
    Total NetDropCheck => "net_drop_check",
    /// Packets dropped because they say themselves that they are of another job.
    Total NetDropJob => "net_drop_job",
    /// Packets dropped because they are of another version.
    Total NetDropVersion => "net_drop_version",
    /// Packets dropped because there is no such connection, or not any more.
    Total NetDropStale => "net_drop_stale",
    /// Packets dropped because they had come before.
    Total NetDropDuplicate => "net_drop_duplicate",
    /// Packets dropped for want of room; they are sent again.
    Total NetDropRoom => "net_drop_room",
    /// Unreliable messages of other nodes dropped for want of room.
    Total NetDropUnreliable => "net_drop_unreliable",
    /// Unreliable messages that the port did not send for want of room or of a connection.
    Total UnreliableUnsent => "unreliable_unsent",
    /// Questions of peers that had not heard what the program at the interface had answered.
    Total NetAnswersUnheard => "net_answers_unheard",
    /// Times that a peer's packets came in a stream, which the program at the interface then left to the socket.
    Total NetStreamsLeft => "net_streams_left",
    /// Windows that are bound.
    Level WindowsBound => "windows_bound",
    /// Windows that the program at the interface serves for other nodes: those on DMA buffers.
    Level WindowsByInterface => "windows_by_interface",
    /// Long messages of processes of this node that the kernel copied.
    Total LongByKernel => "long_by_kernel",
    /// Long messages of processes of this node that came through shared memory, copied by both ends.
    Total LongThroughRing => "long_through_ring",
    /// Long messages of processes of this node that were read from the sender's DMA buffer.
    Total LongFromDma => "long_from_dma",
    /// Long messages whose sender did not do its part, so that the kernel copied them.
    Total StreamsTakenBack => "streams_taken_back",
}

const _: () = assert!(Counter::ALL.len() <= COUNTER_SLOTS);
