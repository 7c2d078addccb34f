//! Errors of calls.

use bcl_bbp::Error as BoardError;

/// Why a call failed. What it was to fill may be filled in part; and the others of the group may wait for this process.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument cannot be right.
    #[error("{0}")]
    InvalidArgument(String),
    /// Members of a group do not do the same.
    #[error(
        "member {member} of the group is in {theirs}, and this process in {ours}: all of a group call the same, in the same order, with the same lengths"
    )]
    Mismatch {
        /// Which of the group, by its rank.
        member: usize,
        /// What it does.
        theirs: String,
        /// What this process does.
        ours: String,
    },
    /// A member has ended, or the billboard fails.
    #[error(transparent)]
    Board(#[from] BoardError),
}
