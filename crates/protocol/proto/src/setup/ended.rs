//! Connections that have ended not long ago: what comes late for them is told from what is new ([WIRE-4.8]).

use std::collections::VecDeque;

use bcl_types::Address;

use super::token::LIFE;
use crate::connection::Keys;
use crate::names::Path;
use bcl_types::{Span, Time};

/// How many are remembered.
const ENDED_MAX: usize = 64;

/// How long what belongs to the set-up of a connection that has ended can be shown again: a WELCOME may come for so long
/// after the first one was confirmed, and its token is good for as long again ([WIRE-4.5]).
const RECENT: Span = LIFE.times(2);

/// What is remembered of a connection.
#[derive(Debug, Clone)]
pub struct Ended {
    pub id: u32,
    pub peer_id: u32,
    pub peer: Address,
    pub path: Path,
    pub keys: Keys,
    pub token: u64,
    /// The peer's incarnation, and its latest attempt at a connection of which we knew ([WIRE-4.7]).
    pub latest: (u64, u32),
    /// All of the peer's sequenced packets before this were taken.
    pub ack: u32,
    /// Whether the peer said CLOSE, and may say it again because our acknowledgement was lost.
    pub by_close: bool,
    pub at: Time,
}

/// The connections that ended last, the oldest first.
#[derive(Debug, Default)]
pub struct EndedList(VecDeque<Ended>);

impl EndedList {
    /// Remembers one. True if an earlier one was forgotten before its tokens were too old to be shown again.
    pub fn push(&mut self, ended: Ended) -> bool {
        let now = ended.at;
        let forgotten = if self.0.len() >= ENDED_MAX {
            self.0.pop_front()
        } else {
            None
        };
        self.0.push_back(ended);
        forgotten.is_some_and(|forgotten| now.since(forgotten.at) <= RECENT)
    }

    pub fn has_token(&self, token: u64) -> bool {
        self.0.iter().any(|ended| ended.token == token)
    }

    /// Whether a set-up, by incarnation and attempt, is older than a connection with that peer that has ended: its token
    /// may still be fresh, and what was sent by it could be played back to a connection made with it.
    pub fn outdates(&self, now: Time, peer: Address, set_up: (u64, u32)) -> bool {
        let mut recent = self.0.iter().filter(|ended| now.since(ended.at) <= RECENT);
        recent.any(|ended| ended.peer == peer && set_up <= ended.latest)
    }

    pub fn find(&self, id: u32) -> Option<&Ended> {
        self.0.iter().find(|ended| ended.id == id)
    }
}
