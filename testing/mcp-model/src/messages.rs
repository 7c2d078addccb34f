//! DATA and BODY ([MCP-4.1], [MCP-4.2], [MCP-4.6]).

use bcl_layout::record::cost;
use bcl_wire::Flags;

use crate::connection::Connection;
use crate::reply::Reply;
use crate::ring::Put;
use crate::{Effect, ModelPort, Packet};

/// Payload of each packet that a message is taken to have when room for all of it is looked for.
const COUNTED_BYTES: u64 = 1024;

impl ModelPort {
    /// Into the ring, for the program.
    pub(crate) fn pass_on(&self, packet: &Packet<'_>) -> Option<Effect> {
        self.ring
            .has_room(packet.payload.len())
            .then_some(Effect::record(Some(Put::Whole)))
    }

    /// Whether half of the ring stays free for other things after a message of this length, and the program wants it.
    pub(crate) fn has_room_for_message(&self, len_bytes: u64) -> bool {
        let needed = match len_bytes {
            0..=COUNTED_BYTES => cost(len_bytes as usize),
            _ => len_bytes.div_ceil(COUNTED_BYTES) as usize * cost(COUNTED_BYTES as usize),
        };
        !self.control.refuse_system
            && self.ring.used_bytes() + needed <= self.ring.capacity_bytes() / 2
    }

    pub(crate) fn data(
        &mut self,
        connection: &mut Connection,
        packet: &Packet<'_>,
    ) -> Option<Effect> {
        let header = &packet.header;
        let is_first = header.flags.contains(Flags::FIRST);
        let is_filler = header.length == 0 && !is_first;
        if is_filler {
            self.counters.discarded += 1;
            return Some(Effect::NONE);
        }
        if header.channel != 0 {
            return self.pass_on(packet);
        }
        match connection.refused {
            Some(_) if !is_first => {
                self.counters.discarded += 1;
                Some(Effect::NONE)
            }
            Some((message, _)) if message != header.message => {
                self.counters.discarded += 1;
                Some(Effect::reply(Reply::Refusal))
            }
            _ if is_first && !self.has_room_for_message(header.length) => {
                let is_early = connection.window.expected() != header.sequence;
                if is_early || connection.window.has_gaps() {
                    // Others are missing before it, or messages after it have been taken.
                    return None;
                }
                self.counters.refused += 1;
                connection.refused = Some((header.message, header.sequence));
                Some(Effect::reply(Reply::Refusal))
            }
            _ => {
                let effect = self.pass_on(packet)?;
                connection.refused = None;
                Some(effect)
            }
        }
    }

    pub(crate) fn body(&mut self, connection: u32, packet: &Packet<'_>) -> Option<Effect> {
        let header = &packet.header;
        let Some(grant) = self.control.grant_of(connection, header.message) else {
            return self.pass_on(packet);
        };
        let len_bytes = packet.payload.len() as u64;
        let is_inside = header
            .offset
            .checked_add(len_bytes)
            .is_some_and(|end| end <= grant.len_bytes);
        let window = u16::try_from(grant.window).ok();
        let place = window
            .and_then(|number| self.windows.get_mut(&number))
            .filter(|_| is_inside)
            .zip(grant.place.checked_add(header.offset))
            .and_then(|(window, at)| window.range(at, len_bytes));
        let Some(place) = place else {
            return self.pass_on(packet);
        };
        if !self.ring.has_room(0) {
            return None;
        }
        place.copy_from_slice(packet.payload);
        self.counters.placed += 1;
        Some(Effect::record(Some(Put::Placed(0))))
    }
}
