//! A connection to the agent that has no port yet.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bcl_agent_messages::{Answer, Request, Status, default_socket};
use bcl_os::Fd;

use crate::error::AgentError;
use crate::line::{Line, PATIENCE, unexpected};
use crate::port::{AgentPort, OpenPort, Opened};

/// No answer is longer: thousands of ports with all their counters.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// A connection to the agent, to open a port by or to ask how things are.
#[derive(Debug)]
pub struct Agent {
    pub(crate) line: Line,
    pub(crate) path: PathBuf,
    interfaces: Vec<String>,
}

impl Agent {
    /// Connects to the agent of this environment: `BCL_AGENT`, else `/run/bcl/agent.sock`.
    ///
    /// # Errors
    /// When there is none, it is not to be trusted, or it refuses this user; the text says what to do.
    pub fn connect() -> Result<Agent, AgentError> {
        Self::connect_to(&default_socket())
    }

    /// The same for who can do without: one that does not say within `patience` that it is ready is
    /// [silent](AgentError::Silent).
    ///
    /// # Errors
    /// As [`Agent::connect`].
    pub fn connect_within(patience: Duration) -> Result<Agent, AgentError> {
        Self::greeted(&default_socket(), patience)
    }

    /// Connects to the agent at a socket.
    ///
    /// # Errors
    /// As [`Agent::connect`].
    pub fn connect_to(path: &Path) -> Result<Agent, AgentError> {
        Self::greeted(path, PATIENCE)
    }

    fn greeted(path: &Path, patience: Duration) -> Result<Agent, AgentError> {
        let (line, interfaces) = Line::connect(path, patience)?;
        Ok(Agent {
            line,
            path: path.to_owned(),
            interfaces,
        })
    }

    /// Names of the interfaces that have the MCP, the program that takes packets.
    pub fn interfaces(&self) -> &[String] {
        &self.interfaces
    }

    /// Opens a port; the connection is its from then on.
    ///
    /// # Errors
    /// When the agent refuses.
    pub fn open(self, wish: &OpenPort<'_>) -> Result<Opened, AgentError> {
        AgentPort::open(self, wish)
    }

    /// What the agent knows.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn status(&self) -> Result<Status, AgentError> {
        let text = self.text(&Request::Status {})?;
        serde_json::from_str(&text).map_err(|error| AgentError::Answer(error.to_string()))
    }

    /// The same in the text format of Prometheus.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn metrics(&self) -> Result<String, AgentError> {
        self.text(&Request::Metrics {})
    }

    fn text(&self, request: &Request) -> Result<String, AgentError> {
        let (answer, fds) = self.line.ask(request)?;
        let Answer::Text { bytes } = answer else {
            return Err(unexpected(&answer));
        };
        let [file] = descriptors(fds)?;
        let mut text = String::new();
        file.take(bytes.min(MAX_TEXT_BYTES))
            .read_to_string(&mut text)
            .map_err(|error| AgentError::Answer(error.to_string()))?;
        Ok(text)
    }
}

/// Exactly so many descriptors.
pub(crate) fn descriptors<const N: usize>(fds: Vec<Fd>) -> Result<[Fd; N], AgentError> {
    fds.try_into().map_err(|fds: Vec<Fd>| {
        AgentError::Answer(format!("{} descriptors came, not {N}", fds.len()))
    })
}
