//! How far the interface program has come with a connection that it is to leave alone ([MCP-6.3]).

use bcl_wire::RmaStatus;

/// What is remembered of a one-sided operation ([MCP-4.5]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Number of the operation.
    pub number: u32,
    /// The interface program performs it, not the program.
    pub is_ours: bool,
    /// It has come to its end.
    pub is_done: bool,
    /// How it has gone so far.
    pub status: RmaStatus,
    /// What an atomic found.
    pub value: u64,
    /// Where a put began.
    pub start: u64,
}

/// All that is known of a connection beside its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionState {
    /// All of the peer's sequenced packets before this were taken.
    pub expected: u32,
    /// Bit *i* mod 64 of word *i* / 64, of the sequence modulo 1,024: it was taken, and is not before `expected`.
    pub taken: [u64; 16],
    /// Packets that were taken and not acknowledged here.
    pub due: u32,
    /// The message on the system channel that is refused, and the sequence of its first packet.
    pub refused: Option<(u32, u32)>,
    /// By slot.
    pub outcomes: Vec<Option<Outcome>>,
}
