//! The two cores that everything runs on.

use std::ffi::OsStr;
use std::process::Command;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::command;
use crate::error::{Result, system};

/// Two cores, or one twice on a machine that has only one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cores {
    /// Where a pair's first process runs.
    pub first: usize,
    /// Where its second process runs.
    pub second: usize,
}

/// Where a process may run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// On this core only.
    Core(usize),
    /// On either of the two, as the scheduler likes.
    Either(Cores),
}

impl Cores {
    /// The first two cores this process may use.
    ///
    /// # Errors
    /// When the kernel does not tell them.
    pub fn available() -> Result<Self> {
        let allowed =
            sched_getaffinity(None).map_err(system("read the cores of", "this process"))?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        let first = cores.next().unwrap_or(0);
        let second = cores.next().unwrap_or(first);
        Ok(Self { first, second })
    }

    /// The place of process `rank` of a pair.
    pub fn of_rank(self, rank: usize) -> Place {
        Place::Core(if rank.is_multiple_of(2) {
            self.first
        } else {
            self.second
        })
    }
}

impl Place {
    /// The words that run a program there, to stand before its own. It ends when its parent does: two
    /// processes that wait for each other would spin for ever after the benchmark was killed.
    pub fn words(self) -> Vec<String> {
        let list = match self {
            Place::Core(core) => core.to_string(),
            Place::Either(Cores { first, second }) => format!("{first},{second}"),
        };
        ["setpriv", "--pdeathsig", "TERM", "taskset", "-c", &list]
            .map(str::to_owned)
            .into()
    }

    /// `program` run there.
    pub fn command(self, program: impl AsRef<OsStr>) -> Command {
        let mut command = command::from_words(&self.words());
        command.arg(program);
        command
    }
}

/// Keeps the calling thread on `core`.
///
/// # Errors
/// When the kernel refuses.
pub fn pin_thread(core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(system("pin a thread to core", core))
}

#[test]
fn a_place_is_a_list_for_taskset() {
    let cores = Cores {
        first: 2,
        second: 5,
    };
    let list = |place: Place| place.words().pop();
    assert_eq!(list(cores.of_rank(1)).as_deref(), Some("5"));
    assert_eq!(list(Place::Either(cores)).as_deref(), Some("2,5"));
}
