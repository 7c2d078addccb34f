//! Why the agent could not be asked, or has refused.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bcl_agent_messages::{Failure, Unreadable, VERSION};
use bcl_node::fdpass::FdPassError;

/// Why the agent could not be asked, or what it has refused; each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Nobody listens there.
    #[error(
        "no agent at {}: {source}; start it with `systemctl start bcld` or `bcld --foreground`, or set BCL_AGENT to its socket",
        path.display()
    )]
    NotThere {
        /// The agent's socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Who listens is neither root nor us: it is not told any secret ([AGENT-1.2]).
    #[error(
        "user {uid} listens at {}, and not root: set BCL_AGENT to the socket of the machine's agent",
        path.display()
    )]
    Stranger {
        /// The agent's socket.
        path: PathBuf,
        /// Who listens.
        uid: u32,
    },
    /// Another version of the protocol.
    #[error(
        "the agent (version {agent}) speaks version {version} of its protocol, and this library version {VERSION}: install both from one release, then `systemctl restart bcld`"
    )]
    Version {
        /// Version of the agent.
        agent: String,
        /// Version of its protocol.
        version: u32,
    },
    /// The agent says no.
    #[error("the agent {0}")]
    Refused(Failure),
    /// The agent has ended or closed the connection.
    #[error("the agent has closed the connection: see `journalctl -u bcld`")]
    Gone,
    /// The agent does not answer.
    #[error("the agent has not answered within {time:?}: see `systemctl status bcld`")]
    Silent {
        /// How long it was waited for.
        time: Duration,
    },
    /// The answer is not what was asked for.
    #[error("the agent's answer cannot be used: {0}; install agent and library from one release")]
    Answer(String),
    /// The socket does not work.
    #[error("the connection to the agent does not work: {0}")]
    Socket(#[from] FdPassError),
}

impl AgentError {
    /// Whether a new connection may do better.
    pub(crate) fn is_end(&self) -> bool {
        matches!(
            self,
            Self::Gone | Self::Silent { .. } | Self::NotThere { .. } | Self::Socket(_)
        )
    }
}

impl From<Unreadable> for AgentError {
    fn from(unreadable: Unreadable) -> Self {
        Self::Answer(unreadable.to_string())
    }
}
