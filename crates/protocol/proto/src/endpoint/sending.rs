//! Packets on their way out.

use bcl_wire::JobKeys;

use super::Endpoint;
use crate::HEADER_BYTES;
use crate::common::Context;
use crate::connection::Connection;
use crate::slab::Name;
use crate::transmit::{Own, Payload, Transmit, Whose};
use crate::upcalls::Upcalls;
use bcl_types::Time;

/// Packets of one connection in a row: what one `UDP_SEGMENT` send takes.
const TURN_PACKETS: u32 = 64;

/// What probes are padded with.
static ZEROS: [u8; bcl_wire::PAYLOAD_MAX] = [0; bcl_wire::PAYLOAD_MAX];

impl Endpoint {
    /// The next packet to send. What it refers to stays in place until the next call that is not
    /// `poll_transmit`, [`bytes`](Self::bytes) or [`seal`](Self::seal).
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, up: &mut impl Upcalls) -> Option<Transmit> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(reply);
        }
        while let Some((place, id)) = self.ready.front().copied() {
            let connection = self
                .connections
                .get_mut(place)
                .filter(|connection| connection.id == id);
            let Some(connection) = connection else {
                self.ready.pop_front();
                continue;
            };
            let common = &mut self.common;
            let mut cx = Context { now, common, up };
            if let Some(transmit) = connection.next_transmit(&mut cx) {
                self.turn_packets += 1;
                if self.turn_packets >= TURN_PACKETS {
                    self.turn_packets = 0;
                    self.ready.rotate_left(1);
                }
                return Some(transmit);
            }
            connection.noted.is_queued = false;
            self.ready.pop_front();
            self.turn_packets = 0;
            self.time_later(place, now);
        }
        None
    }

    /// Whether, at first sight, nothing but the last packet was to be sent. It may be mistaken.
    #[inline]
    pub fn seems_quiet(&self) -> bool {
        let alone = self.replies.is_empty() && self.ready.len() == 1;
        alone
            && self.ready.front().is_some_and(|(place, _)| {
                let connection = self.connections.get(*place);
                connection.is_some_and(Connection::seems_quiet)
            })
    }

    /// The payload of a packet if it lies here; `None` if it was lent (or if the packet was kept for too long:
    /// then it must be dropped).
    #[inline]
    pub fn bytes<'a>(&'a self, transmit: &'a Transmit) -> Option<&'a [u8]> {
        match &transmit.payload {
            Payload::Own(Own::Inline { bytes, len_bytes }) => bytes.get(..usize::from(*len_bytes)),
            Payload::Own(Own::Buffer {
                slot,
                number,
                offset,
                len_bytes,
            }) => {
                let (slot, number) = (*slot, *number);
                let buffer = self.common.copies.get(Name { slot, number })?;
                let at = *offset as usize;
                buffer.get(at..at + usize::from(*len_bytes))
            }
            Payload::Own(Own::Padding { len_bytes }) => ZEROS.get(..usize::from(*len_bytes)),
            Payload::Lent { .. } => None,
        }
    }

    /// The header of a packet with this payload, as it goes out.
    #[inline]
    pub fn seal(&self, transmit: &Transmit, payload: &[u8]) -> [u8; HEADER_BYTES] {
        let mut header = transmit.header;
        bcl_wire::seal(&mut header, payload, self.job_of(transmit), &transmit.key);
        header
    }

    /// What was kept for too long, until its connection had ended, is of no use to anybody whoever's keys it gets.
    #[inline]
    fn job_of(&self, transmit: &Transmit) -> &JobKeys {
        let connection = |id| self.connections.named(id);
        let job = match transmit.job {
            Whose::Ours => None,
            Whose::Connection(id) => connection(id).map(|connection| &connection.job),
            Whose::Question(id) => connection(id)
                .and_then(|connection| connection.doubt.as_ref())
                .map(|doubt| &doubt.job),
        };
        job.unwrap_or(&self.common.keys)
    }
}
