//! What whoever starts a job is told of it, while it runs and in the end.

use std::fmt::{self, Display, Formatter};

/// News of a job that runs, as a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Something has failed, and with it the job.
    Failed {
        /// Which process on which host, and how; or which host.
        what: String,
        /// Whether there are others, which are ended now.
        ends_others: bool,
    },
    /// The job has reached its timeout, and is ended.
    TimedOut,
    /// A process has said something to the launcher that makes no sense, and is not listened to any more.
    Nonsense {
        /// Which.
        process: String,
    },
}

impl Display for Notice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { what, ends_others } => {
                let then = if *ends_others {
                    "; ending the others"
                } else {
                    ""
                };
                write!(f, "{what}{then}")
            }
            Self::TimedOut => f.write_str("the job has reached its time limit; ending it"),
            Self::Nonsense { process } => {
                write!(f, "{process} uses BCL_LAUNCH_FD for something else")
            }
        }
    }
}

/// What became of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// 0 if all went well, else that of the first failure: the status of the process, 128 + N if signal N killed it, 124
    /// after the timeout, 127 or 126 if the program cannot be started, 255 if a host was lost.
    pub status: u8,
    /// The first failure.
    pub failure: Option<String>,
}

/// Where notices go.
pub(crate) type Listener = Box<dyn FnMut(&Notice)>;
