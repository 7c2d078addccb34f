//! One-sided operations: what a requester asks, and how the owner of a window answers ([WIRE-11]).

pub mod asked;
mod reading;
pub mod requester;
pub mod target;

/// Operations of one requester that may be unanswered: the owner remembers as many results ([WIRE-11.1]).
pub const SLOTS: usize = 64;
