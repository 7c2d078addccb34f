//! Why a job could not be started, or not be looked after any longer.

use std::io;

/// What stood in the way of a job. A process that fails is none of these: it is what becomes of the job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What is wanted makes no sense.
    #[error("{0}")]
    Plan(String),
    /// The system refused something.
    #[error("cannot {what}: {source}")]
    System {
        /// What was to be done, as in "make a socket".
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The nodes file, the socket folder or a new key cannot be had.
    #[error("{0}")]
    Configuration(String),
    /// A host cannot be reached, or does not answer.
    #[error("{0}")]
    Unreached(String),
    /// Hosts do not fit together.
    #[error("{0}")]
    Hosts(String),
    /// A signal came before the job was running.
    #[error("interrupted by signal {0}")]
    Interrupted(i32),
    /// A job that runs will not do what it was told.
    #[error("{0}")]
    Refused(String),
    /// The job has ended.
    #[error("the job has ended")]
    Over,
    /// The output of the processes cannot be passed on.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
}

/// What the functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

/// Status of a launcher that cannot reach a host, or loses it, as `ssh` has it.
pub(crate) const UNREACHED: u8 = 255;
const FAILED: u8 = 1;
const USAGE: u8 = 2;
/// As of a program that SIGPIPE ended.
const BROKEN_PIPE: u8 = 128 + 13;

impl Error {
    pub(crate) fn system(what: impl std::fmt::Display, source: impl Into<io::Error>) -> Self {
        Self::System {
            what: what.to_string(),
            source: source.into(),
        }
    }

    pub(crate) fn configuration(error: impl std::fmt::Display) -> Self {
        Self::Configuration(error.to_string())
    }

    /// The exit status that a command which launches deserves by it.
    pub fn status(&self) -> u8 {
        match self {
            Self::Plan(_) => USAGE,
            Self::Unreached(_) => UNREACHED,
            Self::Interrupted(signal) => 128 + (signal & 0x7f) as u8,
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => BROKEN_PIPE,
            Self::System { .. }
            | Self::Configuration(_)
            | Self::Hosts(_)
            | Self::Refused(_)
            | Self::Over
            | Self::Output(_) => FAILED,
        }
    }
}
