//! Errors of calls; what goes wrong later arrives with a completion, as [`OpError`](bcl_types::OpError).

use bcl_types::{Address, OpError};

/// Why a call was refused. Nothing was started, and nothing is lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The peer, or the port, takes no more for now.
    #[error("{to} takes no more for now: poll for completions, then try again")]
    Again {
        /// The peer.
        to: Address,
    },
    /// What was sent to the peer before is lost, though its sends are complete; or the peer has broken the protocol.
    #[error("{to}: {error}; what was sent to it is lost")]
    Lost {
        /// The peer.
        to: Address,
        /// Why.
        error: OpError,
    },
    /// An argument cannot be right.
    #[error("invalid argument: {0}")]
    InvalidArgument(String),
    /// There is no such receive, or message.
    #[error("{0}")]
    NotFound(&'static str),
    /// No thread can be had to look after the endpoint.
    #[error(
        "cannot start the thread that looks after the endpoint: {0}; raise the limit (ulimit -u), or make progress by hand"
    )]
    NoThread(std::io::Error),
    /// The port says so.
    #[error(transparent)]
    Port(#[from] bcl_raw::Error),
}
