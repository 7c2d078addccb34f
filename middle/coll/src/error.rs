//! Errors of calls.

use std::fmt;

use bcl_bbp::Error as BoardError;

/// Why a call failed. What it was to fill may be filled in part. The group can do nothing more, but for [`InvalidArgument`](Self::InvalidArgument).
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
    /// An earlier call of the group failed, here or where another of its members has told of it.
    #[error("the group can do nothing more: {why}, as member {by} of the team has found")]
    Broken {
        /// Which of the team has told of it.
        by: u16,
        /// What has happened.
        why: Broken,
    },
    /// A member has ended, or the billboard fails.
    #[error(transparent)]
    Board(#[from] BoardError),
}

impl Error {
    /// What it means for the group that its call was of.
    pub(crate) fn breaks(&self) -> Broken {
        match self {
            Self::Broken { why, .. } => *why,
            Self::Board(BoardError::Gone { member, .. }) => Broken::Gone(*member),
            _ => Broken::Failed,
        }
    }
}

/// Why a group can do nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// This member of the team has ended.
    Gone(u16),
    /// Members of the group do not do the same, or a billboard has failed.
    Failed,
}

impl Broken {
    /// As it is told to others ([COLL-2.5]).
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        match self {
            Self::Gone(member) => member.to_le_bytes().to_vec(),
            Self::Failed => Vec::new(),
        }
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        match bytes.first_chunk() {
            Some(member) => Self::Gone(u16::from_le_bytes(*member)),
            None => Self::Failed,
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(member) => write!(f, "member {member} of the team has ended"),
            Self::Failed => f.write_str("a call has failed"),
        }
    }
}
