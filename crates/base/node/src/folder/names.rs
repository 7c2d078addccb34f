//! The names in the folder: who is there, and away with the dead.

use std::mem::MaybeUninit;

use bcl_types::Address;
use rustix::fs::{AtFlags, RawDir};
use rustix::io::Errno;

use super::lock::Lock;
use super::probe::Life;
use super::{Folder, FolderError};

impl Folder {
    /// All ports of the folder in order, each with whether its owner lives.
    ///
    /// Takes no lock: a port that is being opened at this moment can pass for dead. A port counts as
    /// alive that is another user's and closed to us, or that a forked child of its dead owner
    /// still has open; [`Folder::connect`] tells.
    pub fn list(&self) -> Result<Vec<(Address, bool)>, FolderError> {
        let mut ports = Vec::new();
        for address in self.addresses()? {
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

    /// Removes the names of all ports whose owners have died; returns how many.
    pub fn sweep(&self) -> Result<usize, FolderError> {
        let mut swept = 0;
        for (address, is_alive) in self.list()? {
            if !is_alive && self.sweep_one(address)? {
                swept += 1;
            }
        }
        Ok(swept)
    }

    /// Removes the name of `address` if its owner has died; returns whether it did.
    pub fn sweep_one(&self, address: Address) -> Result<bool, FolderError> {
        let lock = self.lock()?;
        self.remove_if_dead(address, &lock)
    }

    /// Whether there was a dead name and it could be removed. That another user's name stays is no
    /// error: it is that user's to remove.
    pub(super) fn remove_if_dead(&self, address: Address, _: &Lock) -> Result<bool, FolderError> {
        if self.probe(address)? != Life::Dead {
            return Ok(false);
        }
        match rustix::fs::unlinkat(&self.dir, address.to_string(), AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::PERM | Errno::ACCESS) => Ok(false),
            Err(errno) => Err(FolderError::system(
                "remove",
                &self.socket_path(address),
                errno.into(),
            )),
        }
    }

    /// Files that are named like ports; others are none of our business.
    fn addresses(&self) -> Result<Vec<Address>, FolderError> {
        let failed = |errno: Errno| FolderError::system("list", &self.path, errno.into());
        // Opened anew: threads that share `self.dir` would share the place in the list.
        let dir = self.open_again().map_err(failed)?;
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut entries = RawDir::new(&dir, &mut buffer);
        let mut addresses = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_str().ok();
            addresses.extend(name.and_then(|name| name.parse::<Address>().ok()));
        }
        addresses.sort();
        Ok(addresses)
    }
}
