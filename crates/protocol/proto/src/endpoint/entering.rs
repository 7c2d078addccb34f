//! What the driver of a port has to do with an interface program and the agent that enters connections into its
//! tables ([MCP-1.5], [MCP-6]).
//!
//! After each call that handles something: ask for [`Endpoint::next_to_enter`], give that back on the control page, so
//! that nothing is taken for it yet, and have the agent enter it, then [`entered`](Endpoint::entered)
//! or [`not_entered`](Endpoint::not_entered); meanwhile its sequenced packets are lost. [`Endpoint::next_to_take_back`]:
//! give it back on the control page, ask the agent for its state and to remove it, handle all records of the ring, then
//! [`taken_back`](Endpoint::taken_back). [`Endpoint::next_to_remove`]: have the agent remove it. And say
//! [`refuse_system`](Endpoint::refuse_system) and [`refuse_early`](Endpoint::refuse_early) on the control page whenever that has
//! changed. Before records are handled, [`catch_up`](Endpoint::catch_up). The agent is asked in this
//! order, and does things in it.

use bcl_layout::Record;
use bcl_types::{Address, Cause};
use bcl_wire::Header;

use super::Endpoint;
use crate::common::Context;
use crate::connection::{Connection, End};
use crate::counters::WhyNot;
use crate::names::Path;
use crate::progress::{ConnectionState, Outcome};
use crate::upcalls::Upcalls;
use bcl_types::Time;

/// A connection for the interface program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entering {
    /// Our number of it.
    pub id: u32,
    /// The peer's.
    pub peer_id: u32,
    /// Who.
    pub peer: Address,
    /// Where the peer is.
    pub path: Path,
    /// Key of what the peer sends.
    pub theirs: [u8; 16],
    /// Key of what the peer is sent.
    pub ours: [u8; 16],
    /// All of the peer's sequenced packets before this were taken.
    pub expected: u32,
    /// What has become of its one-sided operations so far, by slot; empty if it has asked for none.
    pub outcomes: Vec<Option<Outcome>>,
}

/// What has become of a record, or of what is overdue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It can be given back.
    Taken,
    /// There is no room for it: it is to stay in the ring, and to be handled again later.
    NoRoom,
}

impl Endpoint {
    /// Whether any connection is to be entered, taken back or removed.
    #[inline]
    pub fn has_errands(&self) -> bool {
        let common = &self.common;
        !(common.to_enter.is_empty()
            && common.to_take_back.is_empty()
            && common.to_remove.is_empty())
    }

    /// A connection that is to be entered into the interface program's tables.
    pub fn next_to_enter(&mut self, now: Time, up: &mut impl Upcalls) -> Option<Entering> {
        while let Some(id) = self.common.to_enter.pop_front() {
            let Some(connection) = self
                .connections
                .place_of(id)
                .and_then(|place| self.connections.get_mut(place))
                .filter(|connection| connection.is_waiting())
            else {
                continue;
            };
            let entering = Entering {
                id,
                peer_id: connection.peer_id,
                peer: connection.peer,
                path: connection.path,
                theirs: connection.keys.theirs.to_bytes(),
                ours: connection.keys.ours.to_bytes(),
                expected: connection.expected(),
                outcomes: connection.outcomes(),
            };
            if self.slots.take(id) {
                connection.with_agent = true;
                return Some(entering);
            }
            self.not_entered(now, id, up);
        }
        None
    }

    /// The agent has entered a connection. True: the interface program has it as soon as it is no longer given back on
    /// the control page. False: it has ended meanwhile.
    #[must_use]
    pub fn entered(&mut self, now: Time, id: u32, up: &mut impl Upcalls) -> bool {
        let Some(place) = self.connections.place_of(id) else {
            return false;
        };
        let connection = self.connections.get_mut(place);
        let is_entered = connection.is_some_and(|connection| connection.on_entered(now));
        self.common.entered += usize::from(is_entered);
        self.follow_up(place, now, Ok(()), up);
        is_entered
    }

    /// The agent cannot, or will not, enter a connection: it goes on without, and is to be entered some time later.
    pub fn not_entered(&mut self, now: Time, id: u32, up: &mut impl Upcalls) {
        self.slots.free(id);
        let Some(place) = self.connections.place_of(id) else {
            return;
        };
        if let Some(connection) = self
            .connections
            .get_mut(place)
            .filter(|connection| connection.is_waiting())
        {
            connection.on_not_entered(now);
        }
        self.follow_up(place, now, Ok(()), up);
    }

    /// What the interface program has put into the ring. The records are given in their order.
    pub fn handle_record(&mut self, now: Time, record: &Record<'_>, up: &mut impl Upcalls) -> Told {
        self.free_spent();
        let Ok(header) = bcl_wire::parse_header(record.header) else {
            self.common.drops.malformed += 1;
            return Told::Taken;
        };
        let Some((place, connection)) = self
            .connections
            .place_of(header.to_connection)
            .and_then(|place| Some((place, self.connections.get_mut(place)?)))
            .filter(|(_, connection)| connection.entry.is_some())
        else {
            self.common.drops.no_connection += 1;
            return Told::Taken;
        };
        let common = &mut self.common;
        let result = connection.on_record(record, &header, &mut Context { now, common, up });
        let told = match result {
            Ok(false) => Told::NoRoom,
            _ => Told::Taken,
        };
        self.follow_up(place, now, result.map(drop), up);
        told
    }

    /// Deals with packets that came early, whose turn has come, and for which there was no room. While it says that there is
    /// none, no record is to be handled, and no connection is taken back.
    #[inline]
    pub fn catch_up(&mut self, now: Time, up: &mut impl Upcalls) -> Told {
        match self.common.overdue.is_empty() {
            true => Told::Taken,
            false => self.catch_up_all(now, up),
        }
    }

    #[cold]
    fn catch_up_all(&mut self, now: Time, up: &mut impl Upcalls) -> Told {
        self.free_spent();
        for id in std::mem::take(&mut self.common.overdue) {
            let Some(place) = self.connections.place_of(id) else {
                continue;
            };
            let Some(connection) = self.connections.get_mut(place) else {
                continue;
            };
            let common = &mut self.common;
            let result = connection.catch_up_told(&mut Context { now, common, up });
            self.follow_up(place, now, result.map(drop), up);
        }
        match self.has_overdue() {
            true => Told::NoRoom,
            false => Told::Taken,
        }
    }

    /// Whether [`catch_up`](Self::catch_up) has something to do.
    pub fn has_overdue(&self) -> bool {
        !self.common.overdue.is_empty()
    }

    /// A sequenced packet came by the socket for a connection that is, or is to be, entered.
    #[cold]
    pub(super) fn on_bypass(
        &mut self,
        place: u32,
        now: Time,
        header: &Header,
        payload: &[u8],
        up: &mut impl Upcalls,
    ) {
        let Some(connection) = self.connections.get_mut(place) else {
            return;
        };
        let common = &mut self.common;
        let result = connection.on_bypass(header, payload, &mut Context { now, common, up });
        if result == Ok(true) {
            connection.give_back(WhyNot::Bypass, &mut self.common);
        }
        self.follow_up(place, now, result.map(drop), up);
    }

    /// The interface program is to leave this connection alone from now on.
    pub fn give_back(&mut self, id: u32) {
        let place = self.connections.place_of(id);
        if let Some(connection) = place.and_then(|place| self.connections.get_mut(place)) {
            connection.give_back(WhyNot::Bypass, &mut self.common);
        }
    }

    /// A connection that is to be given back on the control page, and whose state is wanted; and whether that is since the
    /// peer does not hear what the interface program answers.
    pub fn next_to_take_back(&mut self) -> Option<(u32, bool)> {
        let id = self.common.to_take_back.pop_front()?;
        let place = self.connections.place_of(id);
        let connection = place.and_then(|place| self.connections.get(place));
        let why = connection.and_then(Connection::why_returning);
        Some((id, why == Some(WhyNot::Unheard)))
    }

    /// All that the interface program has put into the ring for a connection that was given back has been
    /// handled, and this is its state. Without it the connection is over.
    pub fn taken_back(
        &mut self,
        now: Time,
        id: u32,
        state: Option<&ConnectionState>,
        up: &mut impl Upcalls,
    ) {
        let Some(place) = self.connections.place_of(id) else {
            return;
        };
        let Some(connection) = self
            .connections
            .get_mut(place)
            .filter(|connection| connection.is_entered())
        else {
            return;
        };
        let result = match state {
            Some(state) => {
                self.slots.free(id);
                self.common.entered -= 1;
                connection.take_back(now, state, &mut self.common.deaf_hosts);
                Ok(())
            }
            None => Err(End::Gone(Cause::Restarted)),
        };
        self.follow_up(place, now, result, up);
    }

    /// A connection that has ended: nothing is to be taken for it any more.
    pub fn next_to_remove(&mut self) -> Option<u32> {
        self.common.to_remove.pop_front()
    }

    /// Whether the control page is to say that system messages are refused: there is just room for those that lie in
    /// the ring.
    pub fn refuse_system(&self, up: &impl Upcalls) -> bool {
        up.is_full() || self.common.is_closing || self.common.pool_room_bytes() == 0
    }

    /// Whether it is to say that packets that come before others are dropped: as many are kept as there is memory for.
    pub fn refuse_early(&self) -> bool {
        self.common.is_closing || self.common.stash.room_bytes() == 0
    }
}
