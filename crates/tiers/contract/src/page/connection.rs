//! What the page says about connections to other nodes ([SHM-5.4]).

use bcl_types::Device;

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
    pub(super) fn to_words(self) -> [u64; 14] {
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

    pub(super) fn from_words(words: [u64; 14]) -> Self {
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
