//! Errors of calls; what goes wrong later arrives with an event, as [`OpError`](bcl_types::OpError).

use bcl_node::{FolderError, KeyError, NodesError};
use rustix::io::Errno;

/// Why a call was refused. Nothing was started, and nothing is lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument cannot be right.
    #[error("invalid argument: {0}")]
    InvalidArgument(String),
    /// Too many operations are under way; take events, then try again.
    #[error(
        "{limit} operations are under way or wait to be taken from the event queues: take events, then try again"
    )]
    QueueFull {
        /// The limit.
        limit: usize,
    },
    /// The port number is taken.
    #[error("{0}")]
    PortInUse(String),
    /// The socket folder cannot be used.
    #[error("{0}")]
    Folder(String),
    /// The port was opened before a `fork`; it belongs to the parent.
    #[error(
        "this port was opened before fork() and belongs to the parent process: open a port of its own in the child"
    )]
    Forked,
    /// This process is a forked child of the one that has the place in the job.
    #[error(
        "this process was forked from a process of the job and has no place in it: let the parent do this, or hand the result on to the child"
    )]
    ForkedFromJob,
    /// The port has been closed.
    #[error("the port is closed")]
    Closed,
    /// Something is in use and cannot be given back yet.
    #[error("{0}")]
    Busy(String),
    /// There is no such post, window or registration.
    #[error("{0}")]
    NotFound(String),
    /// No memory.
    #[error("{0}")]
    NoMemory(String),
    /// No file descriptors.
    #[error("{0}")]
    NoDescriptors(String),
    /// A setting in the environment, or in a file that it names, is wrong.
    #[error("{0}")]
    Configuration(String),
    /// The launcher or another process of the job failed.
    #[error("{0}")]
    Job(String),
    /// A background thread of the port has died: nothing can be done with the port but to take its events and close it.
    #[error("{0}")]
    Background(String),
    /// A system call failed in a way of its own.
    #[error("{what}: {errno}")]
    System {
        /// What was being done.
        what: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
}

impl Error {
    /// An argument cannot be right, for this reason.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::InvalidArgument(text.into())
    }
}

impl From<bcl_node::DetectError> for Error {
    fn from(error: bcl_node::DetectError) -> Self {
        match error {
            bcl_node::DetectError::Nodes(error) => error.into(),
            error => Self::Configuration(error.to_string()),
        }
    }
}

impl From<NodesError> for Error {
    fn from(error: NodesError) -> Self {
        let of_system = match &error {
            NodesError::Unreadable { error, .. } => error.errno(),
            NodesError::Wrong { .. } => None,
        };
        match of_system {
            errno if is_want_of_descriptors(errno) => Self::NoDescriptors(format!(
                "no file descriptors to read the nodes file: {error}; raise the limit (ulimit -n)"
            )),
            _ => Self::Configuration(error.to_string()),
        }
    }
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        match &error {
            KeyError::Unreadable { source, .. } if is_want_of_descriptors(source.errno()) => {
                Self::NoDescriptors(format!("{error}; raise the limit (ulimit -n)"))
            }
            _ => Self::Configuration(error.to_string()),
        }
    }
}

impl From<bcl_os::memfd::Error> for Error {
    fn from(error: bcl_os::memfd::Error) -> Self {
        use bcl_os::memfd::Error as Memory;
        match error {
            Memory::NoMemory { .. } => Self::NoMemory(error.to_string()),
            Memory::NoDescriptors(_) => Self::NoDescriptors(error.to_string()),
            Memory::Unsafe(_) => Self::InvalidArgument(error.to_string()),
            Memory::System { what, errno } => Self::System { what, errno },
        }
    }
}

impl From<FolderError> for Error {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::PortInUse { .. } => Self::PortInUse(error.to_string()),
            FolderError::InvalidNumber => Self::InvalidArgument(error.to_string()),
            FolderError::NoDescriptors { .. } => Self::NoDescriptors(error.to_string()),
            _ => Self::Folder(error.to_string()),
        }
    }
}

impl From<bcl_tier::OpenError> for Error {
    fn from(error: bcl_tier::OpenError) -> Self {
        use bcl_tier::OpenError;
        match error {
            OpenError::Twice(_) => Self::PortInUse(error.to_string()),
            OpenError::Folder(folder) => folder.into(),
            OpenError::Memory(memory) => memory.into(),
            OpenError::Refused(refused) => refused.into(),
            OpenError::Bell(errno) => of_system("making a pipe for wake-ups", errno),
        }
    }
}

impl From<bcl_tier_net::OpenError> for Error {
    fn from(error: bcl_tier_net::OpenError) -> Self {
        use bcl_tier_net::OpenError;
        use bcl_udp::BindError;
        match error {
            OpenError::NoUdpPort(_) => Self::InvalidArgument(error.to_string()),
            OpenError::Nodes(nodes) => nodes.into(),
            OpenError::Bind(BindError::InUse { .. }) => Self::PortInUse(error.to_string()),
            OpenError::Bind(BindError::System { ref source, .. })
                if is_want_of_descriptors(Errno::from_io_error(source)) =>
            {
                Self::NoDescriptors(format!("{error}; raise the limit (ulimit -n)"))
            }
            OpenError::Bind(_) | OpenError::Interface(_) => Self::Configuration(error.to_string()),
            OpenError::Refused(refused) => refused.into(),
            OpenError::Random(error) => Self::System {
                what: "asking the kernel for random numbers (getrandom, /dev/urandom)",
                errno: Errno::from_io_error(&error).unwrap_or(Errno::NOSYS),
            },
            OpenError::Descriptor(errno) => of_system("duplicating a socket", errno),
            OpenError::Thread(error) => no_thread(&error),
        }
    }
}

impl From<bcl_node::sandbox::Refused> for Error {
    fn from(refused: bcl_node::sandbox::Refused) -> Self {
        Self::System {
            what: refused.what,
            errno: refused.errno,
        }
    }
}

fn is_want_of_descriptors(errno: Option<Errno>) -> bool {
    matches!(errno, Some(Errno::MFILE | Errno::NFILE))
}

fn of_system(what: &'static str, errno: Errno) -> Error {
    match is_want_of_descriptors(Some(errno)) {
        true => no_descriptors(&errno),
        false => Error::System { what, errno },
    }
}

fn no_descriptors(error: &dyn std::fmt::Display) -> Error {
    Error::NoDescriptors(format!(
        "no file descriptors for a port: {error}; raise the limit (ulimit -n)"
    ))
}

/// Each tier has a thread in the background.
pub(crate) fn no_thread(error: &std::io::Error) -> Error {
    match Errno::from_io_error(error) {
        errno if is_want_of_descriptors(errno) => no_descriptors(error),
        Some(Errno::AGAIN | Errno::NOMEM) => Error::NoMemory(format!(
            "cannot start the background thread: {error}; raise the limit (ulimit -u, ulimit -v)"
        )),
        _ => Error::System {
            what: "starting the background thread (clone)",
            errno: Errno::from_io_error(error).unwrap_or(Errno::IO),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcl_node::FileError;

    #[test]
    fn a_key_file_for_which_there_is_no_descriptor_is_no_wrong_setting() {
        let unreadable = |errno: Errno| {
            Error::from(KeyError::Unreadable {
                path: "key".into(),
                source: FileError::System(errno.into()),
            })
        };
        assert!(matches!(
            unreadable(Errno::MFILE),
            Error::NoDescriptors(text) if text.contains("ulimit -n")
        ));
        assert!(matches!(unreadable(Errno::NOENT), Error::Configuration(_)));
    }
}
