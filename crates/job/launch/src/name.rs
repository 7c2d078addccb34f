//! What processes of a job are called.

use std::fmt::{self, Display, Formatter};

/// A process's place: shown as its rank, and in groups that were spawned as `GROUP.RANK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// 0 for those that the job began with, then by number of the spawn.
    pub group: u32,
    pub rank: u32,
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.group {
            0 => write!(f, "{}", self.rank),
            group => write!(f, "{group}.{}", self.rank),
        }
    }
}
