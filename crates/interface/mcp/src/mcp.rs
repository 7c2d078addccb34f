//! The interface program in the kernel.

use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use crate::attach::{self, Attached, ModeChoice};
use crate::error::{Doing, Error};
use crate::object;
use crate::sys::{self, Ran};
use crate::tables::Tables;

const PROGRAM: &str = "program";

/// What becomes of a packet (`enum xdp_action`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is dropped: all that it leads to has been done.
    Drop,
    /// The kernel goes on with it, as without the interface program.
    Pass,
    /// It is an answer now, and leaves where it came from.
    Reply,
    /// Nothing that the interface program returns.
    Other(u32),
}

impl Verdict {
    /// From what a program returns.
    pub fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Drop,
            2 => Self::Pass,
            3 => Self::Reply,
            other => Self::Other(other),
        }
    }
}

/// The interface program, loaded. It stays as long as this, an [`Attached`] or a pin is there.
#[derive(Debug)]
pub struct Mcp {
    program: OwnedFd,
    /// What it knows.
    pub tables: Tables,
}

impl Mcp {
    /// Loads it, with empty tables.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn load() -> Result<Self, Error> {
        let loaded = object::load(0)?;
        Ok(Self {
            program: loaded.program,
            tables: Tables::new(loaded.tables, None)?,
        })
    }

    /// Loads it, and returns what the verifier says: how many instructions it has looked at.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn verify() -> Result<String, Error> {
        object::load(object::LOG_BRIEF).map(|loaded| loaded.log)
    }

    /// Opens what another process has pinned.
    ///
    /// # Errors
    /// When it is not there, or was made by another version.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let open = |name: &str| {
            let path = folder.join(name);
            sys::open_pinned(&path).doing(|| format!("opening {}", path.display()))
        };
        let maps: HashMap<String, OwnedFd> = Tables::NAMES
            .into_iter()
            .map(|name| Ok((name.to_owned(), open(name)?)))
            .collect::<Result<_, Error>>()?;
        Ok(Self {
            program: open(PROGRAM)?,
            tables: Tables::new(maps, Some(folder))?,
        })
    }

    /// Pins program and tables in a folder of a bpf file system, so that they outlive this process.
    ///
    /// # Errors
    /// When the folder is in no bpf file system, or something is pinned there.
    pub fn pin(&self, folder: &Path) -> Result<(), Error> {
        fs::create_dir_all(folder).doing(|| format!("making {}", folder.display()))?;
        let program = (PROGRAM, self.program.as_fd());
        for (name, object) in self.tables.each().into_iter().chain([program]) {
            let path = folder.join(name);
            sys::pin(object, &path).doing(|| {
                format!(
                    "pinning {} (is a bpf file system mounted there?)",
                    path.display()
                )
            })?;
        }
        Ok(())
    }

    /// Attaches it to an interface.
    ///
    /// # Errors
    /// When there is no such interface, another XDP program sits there, or the kernel refuses.
    pub fn attach(&self, interface: &str, choice: ModeChoice) -> Result<Attached, Error> {
        attach::attach(self.program.as_fd(), interface, choice)
    }

    /// Shows it a packet, as if it had come by an interface, `repeat` times, each time as the time before has left it.
    /// What it is then stands in `out`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn run(&self, packet: &[u8], out: &mut [u8], repeat: u32) -> Result<Ran, Error> {
        sys::test_run(self.program.as_fd(), packet, out, repeat)
            .doing(|| format!("running the interface program on {} bytes", packet.len()))
    }
}
