//! How a run came out.

use std::fmt;

use crate::World;
use crate::net::Counters;
use crate::party::{News, Party, Request};

/// A run in which nothing was wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Virtual time from beginning to end.
    pub took_ns: u64,
    /// How many things happened.
    pub steps: u64,
    /// How many messages were delivered.
    pub delivered: u64,
    /// How many operations that have an end began, and how many of them failed.
    pub operations: (u64, u64),
    /// How many messages programs wanted back, and how many of them they got.
    pub regrets: (u64, u64),
    /// The longest time that a program waited for something and was told nothing.
    pub longest_lull_ns: u64,
    /// What became of packets.
    pub packets: Counters,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} messages delivered, {} operations ended ({} failed) in {} ms of virtual time and {} steps, {} ms without news at most; packets: {}",
            self.delivered,
            self.operations.0,
            self.operations.1,
            self.took_ns / 1_000_000,
            self.steps,
            self.longest_lull_ns / 1_000_000,
            self.packets
        )
    }
}

/// A run in which something was wrong, with all that is needed to see it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The kind of world.
    pub kind: &'static str,
    /// Its seed.
    pub seed: u64,
    /// Whether hosts had interface programs.
    pub interfaces: bool,
    /// Whether programs exchanged tagged messages.
    pub tagged: bool,
    /// Whether they reached for each other's memory as well.
    pub one_sided: bool,
    /// When it was found.
    pub at_ns: u64,
    /// What was wrong.
    pub what: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (after {} us; look at it with: cargo run -p bcl-sim -- --world {} --seed {}{}{} --trace)",
            self.what,
            self.at_ns / 1_000,
            self.kind,
            self.seed,
            if self.interfaces { " --interfaces" } else { "" },
            match (self.tagged, self.one_sided) {
                (_, true) => " --one-sided",
                (true, false) => " --tagged",
                (false, false) => "",
            }
        )
    }
}

impl<P: Party> World<P> {
    pub(super) fn report(&self) -> Report {
        let totals = self.seats.iter().map(|seat| seat.ends.totals());
        let regrets = self.seats.iter().map(|seat| (seat.regrets, seat.canceled));
        Report {
            took_ns: self.now_ns,
            steps: self.steps,
            delivered: self.ledger.delivered(),
            operations: totals.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)),
            regrets: regrets.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)),
            longest_lull_ns: self.longest_lull_ns,
            packets: self.net.counters().clone(),
        }
    }

    pub(super) fn wrong(&self, what: String) -> Box<Wrong> {
        Box::new(Wrong {
            kind: self.plan.kind,
            seed: self.plan.seed,
            interfaces: self.plan.interfaces,
            tagged: self.plan.tagged.is_some(),
            one_sided: self.plan.one_sided,
            at_ns: self.now_ns,
            what,
        })
    }

    /// What is not over, in words.
    pub(super) fn unfinished(&self) -> String {
        let mut text = format!("{} messages are missing", self.ledger.missing());
        if let Some(first) = self.ledger.first_missing() {
            text += &format!(" (first: {first})");
        }
        for (seat, state) in self.seats.iter().enumerate() {
            if let Some((op, pending)) = state.ends.all().next() {
                text += &format!(
                    "; seat {seat} has {} operations under way, the oldest is {op}: {pending:?}",
                    state.ends.len()
                );
            }
        }
        let busy = self.parties().filter(|(_, party)| !party.is_idle());
        for (seat, party) in busy {
            text += &format!("; seat {seat}: {}", party.unfinished());
        }
        text
    }
}

impl Request {
    /// In a few words, for time lines.
    pub(super) fn short(&self) -> String {
        match self {
            Self::System { op, bytes } => format!("op {op}: system message of {} B", bytes.len()),
            Self::Unreliable { bytes } => format!("unreliable message of {} B", bytes.len()),
            Self::Normal { op, channel, bytes } => {
                format!("op {op}: {} B on channel {channel}", bytes.len())
            }
            Self::Put { op, offset, bytes } => {
                format!("op {op}: put {} B at {offset}", bytes.len())
            }
            Self::Get {
                op,
                offset,
                len_bytes,
            } => format!("op {op}: get {len_bytes} B at {offset}"),
            Self::Add { op, offset } => format!("op {op}: add at {offset}"),
            Self::Swap { op, offset, .. } => format!("op {op}: swap at {offset}"),
        }
    }
}

impl News {
    /// In a few words, for time lines.
    pub(super) fn short(&self) -> String {
        match self {
            Self::Message { from, bytes, .. } => format!("{} B from seat {from}", bytes.len()),
            Self::Received {
                message,
                result: Ok(bytes),
            } => format!("message {message} is here, {} B", bytes.len()),
            Self::Ended {
                op,
                result: Ok((value, bytes)),
            } => format!("op {op} is done, value {value:#x}, {} B", bytes.len()),
            Self::Own(what) => what.clone(),
            other => format!("{other:?}"),
        }
    }
}
