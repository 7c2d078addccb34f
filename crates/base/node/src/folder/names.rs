//! The names in the folder: who is there, and away with the dead.

use std::fmt;
use std::mem::MaybeUninit;
use std::str::FromStr;

use bcl_types::Address;
use rustix::fs::{AtFlags, RawDir};
use rustix::io::Errno;

use super::lock::Lock;
use super::probe::Life;
use super::{Folder, FolderError};

/// What a name in the folder stands for.
pub trait Name: Copy + fmt::Debug + fmt::Display {}

impl Name for Address {}
impl Name for Seat {}

/// The place of a member in a region: `r.0123456789ab.17`, no longer than the longest name of a port. [REFLECT-2.1]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seat {
    /// Of 48 bits.
    pub region: u64,
    /// At most 9,999.
    pub member: u16,
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r.{:012x}.{}", self.region, self.member)
    }
}

impl FromStr for Seat {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (region, member) = text
            .strip_prefix("r.")
            .and_then(|rest| rest.split_once('.'))
            .ok_or(())?;
        let seat = Seat {
            region: u64::from_str_radix(region, 16).map_err(drop)?,
            member: member.parse().map_err(drop)?,
        };
        // One text for each name, else a file could be found that is not the one.
        (seat.to_string() == text).then_some(seat).ok_or(())
    }
}

impl Folder {
    /// All ports of the folder in order, each with whether its owner lives.
    ///
    /// Takes no lock: a port that is being opened at this moment can pass for dead. A port counts as
    /// alive that is another user's and closed to us, or that a forked child of its dead owner
    /// still has open; [`Folder::connect`] tells.
    pub fn list(&self) -> Result<Vec<(Address, bool)>, FolderError> {
        let mut ports = Vec::new();
        for address in self.names::<Address>()? {
            match self.probe(address)? {
                Life::Alive => ports.push((address, true)),
                Life::Dead => ports.push((address, false)),
                Life::Absent | Life::NotASocket => {}
            }
        }
        Ok(ports)
    }

    /// Whether there is a name of this port, alive or not.
    pub fn holds(&self, address: Address) -> bool {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::statat(&self.dir, address.to_string(), flags).is_ok()
    }

    /// All seats of regions whose owners live, as far as can be known without the lock.
    pub fn seats(&self) -> Result<Vec<Seat>, FolderError> {
        let mut seats = self.names::<Seat>()?;
        seats.retain(|seat| matches!(self.probe(*seat), Ok(Life::Alive)));
        Ok(seats)
    }

    /// Shows somebody the seats of one region that are [marked](super::Bound::mark), who is to decide what nobody else may decide at the
    /// same time: under the lock it is certain who lives, and nobody comes.
    pub fn with_marked_seats<R>(
        &self,
        region: u64,
        decide: impl FnOnce(Vec<Seat>) -> R,
    ) -> Result<R, FolderError> {
        let _lock = self.lock()?;
        let mut seats = self.seats()?;
        seats.retain(|seat| seat.region == region && self.is_marked(*seat));
        Ok(decide(seats))
    }

    /// Removes the names of all ports and members of regions whose owners have died; returns how many.
    pub fn sweep(&self) -> Result<usize, FolderError> {
        Ok(self.sweep_all::<Address>()? + self.sweep_all::<Seat>()?)
    }

    fn sweep_all<N: Name + FromStr + Ord>(&self) -> Result<usize, FolderError> {
        let mut swept = 0;
        for name in self.names::<N>()? {
            if self.probe(name)? == Life::Dead && self.sweep_one(name)? {
                swept += 1;
            }
        }
        Ok(swept)
    }

    /// Removes a name if its owner has died; returns whether it did.
    pub fn sweep_one(&self, name: impl Name) -> Result<bool, FolderError> {
        let lock = self.lock()?;
        self.remove_if_dead(name, &lock)
    }

    /// Whether there was a dead name and it could be removed. That another user's name stays is no
    /// error: it is that user's to remove.
    pub(super) fn remove_if_dead(&self, name: impl Name, _: &Lock) -> Result<bool, FolderError> {
        if self.probe(name)? != Life::Dead {
            return Ok(false);
        }
        match rustix::fs::unlinkat(&self.dir, name.to_string(), AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::PERM | Errno::ACCESS) => Ok(false),
            Err(errno) => Err(FolderError::system(
                "remove",
                &self.socket_path(name),
                errno.into(),
            )),
        }
    }

    /// Files that are named so; others are none of our business.
    fn names<N: FromStr + Ord>(&self) -> Result<Vec<N>, FolderError> {
        let failed = |errno: Errno| FolderError::system("list", &self.path, errno.into());
        // Opened anew: threads that share `self.dir` would share the place in the list.
        let dir = self.open_again().map_err(failed)?;
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut entries = RawDir::new(&dir, &mut buffer);
        let mut names = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_str().ok();
            names.extend(name.and_then(|name| name.parse().ok()));
        }
        names.sort();
        Ok(names)
    }
}
