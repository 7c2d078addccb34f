//! What can go wrong while measuring, said so that the reader of the report knows what to do.

use std::path::PathBuf;

/// Why a figure could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program this measurement needs is not there.
    #[error("{program} is not installed: apt install {package}")]
    Missing {
        /// The program that was looked for.
        program: String,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A program ended with an error.
    #[error("`{command}` failed ({status}): {stderr}")]
    Failed {
        /// The command line.
        command: String,
        /// How it ended.
        status: String,
        /// What it said.
        stderr: String,
    },
    /// A program printed something else than a figure.
    #[error("`{command}` printed no figure but {output:?}")]
    Unreadable {
        /// The command line.
        command: String,
        /// What it printed.
        output: String,
    },
    /// A system call or a file operation failed.
    #[error("cannot {action} {object}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// On which object.
        object: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file that belongs to the measurement is not there.
    #[error("{path} is absent: {hint}")]
    Absent {
        /// The file.
        path: PathBuf,
        /// What to do about it.
        hint: &'static str,
    },
    /// The payload did not arrive as it was sent.
    #[error("the payload arrived spoilt at byte {at_byte}")]
    Spoilt {
        /// The first wrong byte.
        at_byte: usize,
    },
    /// A call of BCL was refused.
    #[error("BCL: {0}")]
    Call(#[from] bcl::Error),
    /// A call on a region was refused.
    #[error("BCL: {0}")]
    Region(#[from] bcl_reflect::Error),
    /// An operation of BCL failed.
    #[error("an operation of BCL failed: {0}")]
    Operation(#[from] bcl::OpError),
    /// A partner was lost in the middle of the measurement.
    #[error("lost {peer}: {cause}")]
    Lost {
        /// The partner's port.
        peer: bcl::Address,
        /// Why it is gone.
        cause: bcl::Cause,
    },
    /// Something arrived that no one sent.
    #[error("expected {expected} and got {got}")]
    Unexpected {
        /// What should have come.
        expected: &'static str,
        /// What came.
        got: String,
    },
    /// Nothing of that name can be measured.
    #[error("there is no work {name}; there are {names}")]
    NoSuchWork {
        /// What was asked for.
        name: String,
        /// What could be.
        names: String,
    },
    /// We have no figure where we should.
    #[error("we could not be measured in {work}: {reason}")]
    NotMeasured {
        /// The work.
        work: &'static str,
        /// Why.
        reason: String,
    },
    /// The picture could not be drawn.
    #[error("cannot draw {path}: {reason}")]
    Plot {
        /// The file.
        path: PathBuf,
        /// What the plotting library says.
        reason: String,
    },
}

/// The result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// For `map_err`: names what was tried on which object.
pub fn system<E: Into<std::io::Error>>(
    action: &'static str,
    object: impl ToString,
) -> impl FnOnce(E) -> Error {
    let object = object.to_string();
    move |source| Error::System {
        action,
        object,
        source: source.into(),
    }
}
