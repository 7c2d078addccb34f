//! The owner's half of one-sided operations ([MCP-4.5]).

use bcl_layout::control::LONG_PUT_BYTES;
use bcl_layout::tables::Window as Entered;
use bcl_proto::Outcome;
use bcl_wire::body::AtomicBody;
use bcl_wire::serial::distance;
use bcl_wire::{Flags, Kind, RmaStatus};

use crate::connection::Connection;
use crate::reply::Reply;
use crate::ring::Put;
use crate::window::Window;
use crate::{Effect, ModelPort, Packet};

impl ModelPort {
    /// GET: performed if its answer can take its place, else the program's.
    pub(crate) fn get(&mut self, packet: &Packet<'_>) -> Option<Effect> {
        let header = &packet.header;
        let is_padded = header.flags.contains(Flags::PADDED);
        let Some(window) = self.offered(header.channel).filter(|_| is_padded) else {
            return self.pass_on(packet);
        };
        let status = window.permits(header.offset, header.length, Entered::GET);
        self.counters.read += u64::from(status == RmaStatus::Ok);
        Some(Effect::reply(Reply::Answer { status, value: 0 }))
    }

    pub(crate) fn put_or_atomic(
        &mut self,
        connection: &mut Connection,
        packet: &Packet<'_>,
    ) -> Option<Effect> {
        let header = &packet.header;
        let slot = usize::from(header.slot);
        let atomic = AtomicBody::from_bytes(packet.payload);
        if header.kind == Kind::Atomic && atomic.is_none() {
            return Some(Effect::NONE);
        }
        let known = connection.outcomes[slot]
            .map(|outcome| (distance(header.message, outcome.number), outcome));
        let mut outcome = match known {
            Some((..0, _)) => return Some(Effect::NONE),
            Some((0, outcome)) if !outcome.is_ours => return self.pass_on(packet),
            Some((0, outcome)) if outcome.is_done => return Some(answered(&outcome)),
            Some((0, outcome)) => outcome,
            _ if header.kind == Kind::Put && !header.flags.contains(Flags::FIRST) => {
                return Some(Effect::NONE);
            }
            _ => Outcome {
                number: header.message,
                is_ours: self.offered(header.channel).is_some(),
                is_done: false,
                status: RmaStatus::Ok,
                value: 0,
                start: header.offset,
            },
        };
        let effect = match header.kind {
            _ if !outcome.is_ours => self.pass_on(packet)?,
            Kind::Put => self.put_piece(packet, &mut outcome)?,
            _ => self.atomic(packet, atomic?, &mut outcome)?,
        };
        connection.outcomes[slot] = Some(outcome);
        Some(effect)
    }

    fn put_piece(&mut self, packet: &Packet<'_>, outcome: &mut Outcome) -> Option<Effect> {
        let header = &packet.header;
        let len_bytes = packet.payload.len() as u64;
        let is_last = header.flags.contains(Flags::LAST);
        let window = Self::offered_mut(&mut self.windows, &self.control, header.channel);
        if outcome.status == RmaStatus::Ok {
            outcome.status = status_of(window.as_deref(), |window| {
                match window.permits(outcome.start, header.length, Entered::PUT) {
                    RmaStatus::Ok => window.permits(header.offset, len_bytes, Entered::PUT),
                    refused => refused,
                }
            });
        }
        let is_well = outcome.status == RmaStatus::Ok;
        let notifies = is_well
            && is_last
            && window
                .as_ref()
                .is_some_and(|w| w.access & Entered::NOTIFY != 0);
        if notifies && !self.ring.has_room(0) {
            return None;
        }
        if is_well
            && let Some(place) = window.and_then(|window| window.range(header.offset, len_bytes))
        {
            place.copy_from_slice(packet.payload);
            self.counters.placed += 1;
        }
        outcome.is_done = is_last;
        let effect = if is_last {
            answered(outcome)
        } else {
            Effect::NONE
        };
        let begins_long = is_well
            && header.flags.contains(Flags::FIRST)
            && !is_last
            && header.length >= LONG_PUT_BYTES;
        let record = match () {
            () if notifies => Some(Put::Placed(outcome.start as u32)),
            () if begins_long && self.control.tell_puts && self.ring.is_quarter_enough(0) => {
                Some(Put::Bare)
            }
            () => None,
        };
        Some(Effect { record, ..effect })
    }

    fn atomic(
        &mut self,
        packet: &Packet<'_>,
        atomic: AtomicBody,
        outcome: &mut Outcome,
    ) -> Option<Effect> {
        let header = &packet.header;
        let window = Self::offered_mut(&mut self.windows, &self.control, header.channel);
        outcome.status = status_of(window.as_deref(), |window| {
            match window.permits(header.offset, 8, Entered::ATOMIC) {
                RmaStatus::Ok if !header.offset.is_multiple_of(8) => RmaStatus::Range,
                status => status,
            }
        });
        let is_well = outcome.status == RmaStatus::Ok;
        let notifies = is_well
            && window
                .as_ref()
                .is_some_and(|w| w.access & Entered::NOTIFY != 0);
        if notifies && !self.ring.has_room(0) {
            return None;
        }
        if is_well && let Some(place) = window.and_then(|window| window.range(header.offset, 8)) {
            let found = u64::from_le_bytes(place.first_chunk().copied().unwrap_or_default());
            let left = match atomic {
                AtomicBody::FetchAdd(value) => found.wrapping_add(value),
                AtomicBody::CompareSwap { expected, new } if found == expected => new,
                AtomicBody::CompareSwap { .. } => found,
            };
            place.copy_from_slice(&left.to_le_bytes());
            outcome.value = found;
            self.counters.placed += 1;
        }
        outcome.is_done = true;
        let record = notifies.then_some(Put::Placed(header.offset as u32));
        Some(Effect {
            record,
            ..answered(outcome)
        })
    }
}

fn status_of(window: Option<&Window>, permits: impl FnOnce(&Window) -> RmaStatus) -> RmaStatus {
    window.map_or(RmaStatus::NoWindow, permits)
}

fn answered(outcome: &Outcome) -> Effect {
    Effect::reply(Reply::Answer {
        status: outcome.status,
        value: outcome.value,
    })
}
