//! Errors of calls.

use std::io;
use std::time::Duration;

use bcl_node::{FolderError, KeyError};
use bcl_os::memfd;
use rustix::io::Errno;

/// Why a call failed. Nothing was done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument cannot be right.
    #[error("{0}")]
    InvalidArgument(String),
    /// A setting in the environment is wrong, or missing.
    #[error("{0}")]
    Configuration(String),
    /// The key of the job.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The folder where members find each other.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Somebody else is this member.
    #[error(
        "member {member} of region {name} is there already: another process{place} has joined as it"
    )]
    Taken {
        /// The region.
        name: String,
        /// The member.
        member: u16,
        /// Where, as in " on 10.0.0.2"; empty if it is on this host.
        place: String,
    },
    /// A process of another host has become this member meanwhile, while the hosts could not hear each other.
    #[error(
        "another process has become this member of the region on another host, while that could not be reached: leave it, and join as another"
    )]
    Usurped,
    /// The process that is to send and receive for this host does not, or there is none.
    #[error("region {name} does not reach other hosts: {why}")]
    NotKept {
        /// The region.
        name: String,
        /// Which process it is, and what to do.
        why: String,
    },
    /// No UDP socket can be had for the packets of the region.
    #[error("region {name} needs a UDP port between hosts: {source}")]
    Socket {
        /// The region.
        name: String,
        /// Why not.
        source: bcl_udp::BindError,
    },
    /// Those who are there have another region of this name.
    #[error(
        "region {name} has {members} members and {len_bytes} bytes{theirs}, and you say {own_members} and {own_len_bytes}{ours}: all have to say the same"
    )]
    Geometry {
        /// The region.
        name: String,
        /// How many members it has.
        members: u16,
        /// How long it is.
        len_bytes: u64,
        /// How many were asked for.
        own_members: u16,
        /// What length was asked for.
        own_len_bytes: u64,
        /// On how many hosts it is, if that is what differs.
        theirs: &'static str,
        /// The same of what was asked for.
        ours: &'static str,
    },
    /// Members that have the region do not hand it over.
    #[error(
        "the members of region {name} that are there do not answer within {} s: {who}; are they stopped, or of another version of BCL?", waited.as_secs()
    )]
    NoAnswer {
        /// The region.
        name: String,
        /// Who.
        who: String,
        /// How long they had.
        waited: Duration,
    },
    /// There is no memory for the region, or it cannot be mapped.
    #[error(transparent)]
    Memory(#[from] memfd::Error),
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// It has been left.
    #[error("the region has been left")]
    Left,
    /// A call in a child of the process that has joined.
    #[error("the region belongs to the parent process: join as another member after fork")]
    Forked,
}

impl Error {
    /// Whether a system call failed because no descriptor was left.
    pub fn is_for_want_of_descriptors(&self) -> bool {
        let Self::System { source, .. } = self else {
            return false;
        };
        matches!(
            Errno::from_io_error(source),
            Some(Errno::MFILE | Errno::NFILE)
        )
    }

    pub(crate) fn system(what: &'static str, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        Self::System { what, source }
    }
}
