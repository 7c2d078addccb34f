//! What people see of it.

use bcl_os::sync::Ordering;
use bcl_tier::page::{CONNECTIONS, Counter};
use bcl_tier::{Depths, LinkInfo};
use bcl_types::Address;

use super::Engine;
use crate::{link, names};

impl Engine {
    pub fn links(&self) -> Vec<(Address, LinkInfo)> {
        let peers = self.endpoint.peers().filter(|info| info.is_up);
        let interface = self.interface.as_ref();
        peers
            .map(|info| {
                let has_line = self.udp.has_line(info.path.to);
                let link = link::of_connection(&info, &self.reach, self.ip, interface, has_line);
                (info.peer, link)
            })
            .collect()
    }

    pub fn publish(&self, sums: &mut Depths) {
        let depths = self.endpoint.depths();
        sums.pending_sends += depths.pending;
        sums.unexpected += depths.unexpected;
        sums.unreleased += depths.unreleased;
        sums.peer_memory_bytes += depths.memory_bytes;
        sums.peers += depths.peers;
        self.publish_traffic();
    }

    /// Writes what else `bcl stat` shows of the tier.
    fn publish_traffic(&self) {
        let (page, traffic, drops) = (
            &self.shared.page,
            self.endpoint.traffic(),
            self.endpoint.drops(),
        );
        let interface = self.interface.as_ref();
        let by_interface =
            |names: &[&str]| interface.map_or(0, |interface| interface.counted(names));
        for (counter, value) in [
            (Counter::NetPacketsOut, traffic.packets_out),
            (Counter::NetPacketsIn, traffic.packets_in),
            (Counter::NetRetransmits, traffic.retransmits),
            (Counter::NetTimeouts, traffic.timeouts),
            (
                Counter::NetDropMalformed,
                drops.malformed + drops.not_ours + by_interface(&["malformed"]),
            ),
            (
                Counter::NetDropCheck,
                drops.check + by_interface(&["check"]),
            ),
            (Counter::NetDropJob, drops.job),
            (Counter::NetDropVersion, drops.version),
            (
                Counter::NetDropStale,
                drops.no_connection + drops.stale_setup,
            ),
            (
                Counter::NetDropDuplicate,
                drops.duplicate
                    + drops.beyond_window
                    + by_interface(&["duplicate", "beyond_window"]),
            ),
            (
                Counter::NetDropRoom,
                drops.no_room + by_interface(&["no_room"]),
            ),
            (Counter::NetDropUnreliable, drops.unreliable),
            (Counter::NetAnswersUnheard, traffic.answers_unheard),
            (Counter::NetStreamsLeft, traffic.streams_left),
        ] {
            page.counter(counter).store(value, Ordering::Relaxed);
        }
        let mut peers = self.endpoint.peers().filter(|info| info.is_up);
        for index in 0..CONNECTIONS {
            let connection = peers.next().map(|info| names::connection(&info));
            page.describe(index, &connection.unwrap_or_default());
        }
    }
}
