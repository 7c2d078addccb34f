//! Why a command ended badly, and with which status.

use std::io;

/// Status of a command line that makes no sense; clap uses the same.
pub const USAGE: u8 = 2;
/// Status of everything else that goes wrong.
pub const FAILED: u8 = 1;
/// Status of a program whose reader went away, as of one that SIGPIPE ended: 128 + 13.
pub const BROKEN_PIPE: u8 = 141;

/// A command's end: one sentence for the user, and the exit status.
#[derive(Debug)]
pub struct Failure {
    pub text: String,
    pub status: u8,
}

pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// Something went wrong.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            status: FAILED,
        }
    }

    /// The command line makes no sense in a way that only the command itself can see.
    pub fn usage(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            status: USAGE,
        }
    }

    /// The system refused something.
    pub fn system(what: impl std::fmt::Display, error: impl Into<io::Error>) -> Self {
        Self::new(format!("cannot {what}: {}", error.into()))
    }
}

impl From<bcl::Error> for Failure {
    fn from(error: bcl::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<bcl_launch::Error> for Failure {
    fn from(error: bcl_launch::Error) -> Self {
        use bcl_launch::Error;
        match error {
            Error::Output(error) => output(error),
            // The user knows.
            Error::Interrupted(_) => Self {
                text: String::new(),
                status: error.status(),
            },
            error => Self {
                text: error.to_string(),
                status: error.status(),
            },
        }
    }
}

/// Standard output failed. A reader that has seen enough is no reason to complain.
pub fn output(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure {
            text: String::new(),
            status: BROKEN_PIPE,
        },
        _ => Failure::system("write to standard output", error),
    }
}
