//! How an operation, or a peer, came to its end.

/// Why a peer is no longer there ([SEM-7.2]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// It closed its port.
    Closed,
    /// Its process exited with this status.
    Exited(i32),
    /// Its process was killed by this signal.
    Killed(i32),
    /// It went away and the kernel does not tell how (it called `_exit`, or was killed, on a kernel before 6.15); or
    /// it is on another node, whose kernel says that its port is not there any more.
    Vanished,
    /// It is on another node, owed an answer, and nothing was heard of it for so many ms.
    Silent(u32),
    /// A new port with the same address has taken its place, or it has given up the connection, on another node.
    Restarted,
    /// It broke the protocol and was cut off ([SEM-7.7]).
    Protocol,
}

/// How operations end that were pending to a peer that has gone ([SEM-7.3], [SEM-7.7]).
impl From<Cause> for OpError {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Protocol => Self::Protocol,
            cause => Self::PeerGone(cause),
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed => write!(f, "it closed its port"),
            Self::Exited(status) => write!(f, "its process exited with status {status}"),
            Self::Killed(signal) => write!(f, "its process was killed by signal {signal}"),
            Self::Vanished => write!(f, "its process vanished"),
            Self::Silent(time_ms) => write!(f, "nothing was heard of it for {time_ms} ms"),
            Self::Restarted => write!(f, "a new port has taken its place"),
            Self::Protocol => write!(f, "it broke the protocol and was cut off"),
        }
    }
}

/// Why an operation failed; arrives with its completion event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpError {
    /// The message is longer than the buffer posted for it; both sides are told and nothing was written.
    #[error(
        "the message is {len_bytes} bytes long but the posted buffer holds {capacity_bytes}; post a larger buffer"
    )]
    Truncated {
        /// Length of the message.
        len_bytes: u64,
        /// Length of the posted buffer.
        capacity_bytes: u64,
    },
    /// No process has this port open.
    #[error("nobody has this port open; check the address and that the peer has started")]
    NoPort,
    /// The peer belongs to a job with another key.
    #[error(
        "the peer has another key: it belongs to another job (BCL_JOB_KEY, BCL_JOB_KEY_FILE), or has the address of one that is gone"
    )]
    KeyMismatch,
    /// The peer speaks another version of the protocol.
    #[error(
        "the peer speaks version {theirs} and this library speaks version {ours}; install the same BCL on both"
    )]
    VersionMismatch {
        /// Version of this library.
        ours: u32,
        /// Version of the peer.
        theirs: u32,
    },
    /// The other user does not let us attach, or we do not let them.
    #[error(
        "the users differ and the job does not allow it; list the user id in BCL_ALLOW_UIDS on both sides. Users whom a container does not tell apart (all are 'nobody', 65534) need a job key (BCL_JOB_KEY_FILE)"
    )]
    NotAllowed,
    /// No tier reaches that node.
    #[error(
        "no way leads to this node, or it does not answer: ports of other nodes are reached by UDP if their numbers are 1 to 8191 and the job has a key of its own (BCL_JOB_KEY_FILE); `bcl doctor HOST` tells more"
    )]
    Unreachable,
    /// The peer is gone.
    #[error("the peer is gone: {0}")]
    PeerGone(Cause),
    /// The window does not permit this access.
    #[error("the owner of the window does not permit this access")]
    RmaDenied,
    /// The access reaches outside the window.
    #[error("the access reaches outside the window, or an atomic is not 8-byte aligned")]
    RmaRange,
    /// Nothing is bound to this open channel.
    #[error("the peer has bound no memory to this open channel")]
    NoWindow,
    /// The operation was canceled.
    #[error("canceled")]
    Canceled,
    /// The sender's memory could not be read, or the receiver's not be written.
    #[error("the memory given is not mapped")]
    Fault,
    /// There is no memory for a connection.
    #[error(
        "there is no memory for a connection with the peer; free some or raise the limit (ulimit -v, ulimit -f, memory cgroup)"
    )]
    NoMemory,
    /// There are no file descriptors for a connection.
    #[error(
        "there are no file descriptors left for a connection with the peer; raise the limit (ulimit -n)"
    )]
    NoDescriptors,
    /// The peer broke the protocol; the connection was cut.
    #[error("the peer broke the protocol and was cut off")]
    Protocol,
}
