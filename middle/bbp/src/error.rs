//! Errors of calls.

use bcl_types::Cause;

/// Why a call failed. Nothing was posted, and no message is lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument cannot be right.
    #[error("{0}")]
    InvalidArgument(String),
    /// There is no room for the message within the time: members that it, or others, were posted for have not read them.
    #[error("the billboard is full: {0}")]
    Full(String),
    /// A member that the message was for, or was to come from, has ended.
    #[error("member {member} has ended ({cause})")]
    Gone {
        /// Which.
        member: u16,
        /// How.
        cause: Cause,
    },
    /// Some member has ended, and there is no message.
    #[error("a member has ended: the billboard's events tell which, and how")]
    MemberGone,
    /// The next message is longer than the buffer. It stays where it is.
    #[error(
        "the next message, of member {from}, has {len_bytes} bytes, and the buffer {room_bytes}"
    )]
    Truncated {
        /// Who has posted it.
        from: u16,
        /// Its length.
        len_bytes: usize,
        /// That of the buffer.
        room_bytes: usize,
    },
    /// A member has written something that makes no sense where its messages are. It is passed over.
    #[error(
        "member {from} has posted a message that cannot be: has it written beyond its own memory?"
    )]
    Senseless {
        /// Which.
        from: u16,
    },
    /// The region that the billboard is in.
    #[error(transparent)]
    Region(#[from] bcl_reflect::Error),
}
