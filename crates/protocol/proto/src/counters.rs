//! What is counted, for people and for tests.

use bcl_types::Address;

use crate::names::Path;
use bcl_types::Span;

macro_rules! counters {
    ($(#[$outer:meta])* $name:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl $name {
            /// Names and values, in the order in which they are declared.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field),)*].into_iter()
            }

            /// Adds another's.
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

counters! {
    /// Packets of an endpoint that led to nothing, by cause.
    Drops {
        /// Shorter than a header, or not as long as the header says, or without a meaning.
        malformed,
        /// Of another protocol, or for another port.
        not_ours,
        /// Of another version.
        version,
        /// The check is wrong: damaged, forged, or of another job.
        check,
        /// Of another job, as it says itself.
        job,
        /// For a connection that there is not (any more).
        no_connection,
        /// Set-up that proves nothing fresh.
        stale_setup,
        /// Seen before.
        duplicate,
        /// Beyond the receive window.
        beyond_window,
        /// Came early, and there was no room to keep it.
        no_room,
        /// Came past the interface program that has its connection.
        bypass,
        /// An unreliable message for which there was no room.
        unreliable,
    }
}

counters! {
    /// Work of a connection, or of all connections of an endpoint together.
    Traffic {
        /// Packets sent, of all types.
        packets_out,
        /// Packets received and accepted as authentic.
        packets_in,
        /// Payload sent, again or not.
        bytes_out,
        /// Payload received.
        bytes_in,
        /// Packets sent again.
        retransmits,
        /// Probes for the loss of the last packet.
        tail_probes,
        /// Retransmission timeouts.
        timeouts,
        /// Packets that came twice.
        duplicates,
        /// Times that we have told the peer to wait.
        refusals_out,
        /// Times that the peer has told us to wait.
        refusals_in,
        /// Packets that only acknowledge.
        acks_out,
        /// Questions of peers that had not heard what our interface program had answered.
        answers_unheard,
        /// Times that the peer's packets came in a stream, which our interface program then left to the socket.
        streams_left,
    }
}

/// Why an interface program leaves a connection alone for now that it has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyNot {
    /// Packets came past it.
    Bypass,
    /// The peer has not heard what it answers.
    Unheard,
    /// The peer's packets come in streams, which the socket takes faster.
    Streams,
}

/// A connection, as `bcl stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeerInfo {
    /// Who.
    pub peer: Address,
    /// Where its packets go.
    pub path: Path,
    /// Whether the connection is up.
    pub is_up: bool,
    /// Whether our interface program takes the peer's packets.
    pub is_entered: bool,
    /// Why it does not, for now, if it could.
    pub why_not: Option<WhyNot>,
    /// Whether the peer's interface program takes our packets.
    pub is_entered_there: bool,
    /// Smoothed round trip; 0 before the first.
    pub round_trip: Span,
    /// Shortest round trip lately.
    pub base_round_trip: Span,
    /// Packets that may be under way.
    pub congestion_window: f64,
    /// Packets that are under way.
    pub in_flight: u32,
    /// Sends and one-sided operations that are not complete.
    pub pending: u32,
    /// Longest datagram on the path.
    pub datagram_bytes: u16,
    /// What has happened.
    pub traffic: Traffic,
    /// Packets for the connection that led to nothing. Causes for which a packet belongs to none are 0 here.
    pub drops: Drops,
}

/// How full an endpoint is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depths {
    /// Connections, and attempts at one.
    pub peers: usize,
    /// Sends and one-sided operations that are not complete.
    pub pending: usize,
    /// Normal messages that wait for a buffer.
    pub unexpected: usize,
    /// System messages that were not released.
    pub unreleased: usize,
    /// Memory of the pool in use.
    pub pool_bytes: usize,
    /// Memory of packets that came early.
    pub stash_bytes: usize,
    /// All memory of the endpoint, whether in use or kept for the next.
    pub memory_bytes: usize,
}
