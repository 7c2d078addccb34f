//! Opening a port, before any tier has it: its number, its page, its bell.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bcl_node::sandbox::{self, Refused};
use bcl_node::{Bound, Folder, FolderError, JobKey};
use bcl_os::PerProcess;
use bcl_os::fork::outlast_children;
use bcl_os::memfd;
use bcl_types::{Address, NodeId};
use rustix::io::Errno;

use crate::peer_keys::PeerKeys;
use crate::shared::{Friends, Shared};

/// What a port is to be, whichever tiers it has.
#[derive(Debug, Clone)]
pub struct PortConfig {
    /// Node number.
    pub node: NodeId,
    /// Port number, or `None` to be assigned one.
    pub number: Option<u16>,
    /// Rendezvous folder.
    pub folder: PathBuf,
    /// Key of the port, which is that of its job if it has none of its own.
    pub key: JobKey,
    /// Those of peers' ports that have others.
    pub peer_keys: PeerKeys,
    /// Users besides our own that may connect.
    pub allow_uids: Vec<u32>,
}

/// Why a port could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder, or the name in it.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The page.
    #[error(transparent)]
    Memory(#[from] memfd::Error),
    /// The bell.
    #[error("cannot make a pipe for wake-ups: {0}")]
    Bell(Errno),
    /// This process has such a port, in another folder.
    #[error("this process has a port {0} already, in another socket folder: choose another number")]
    Twice(Address),
    /// A system call that this process may not make.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// A port that has a number, and no tier yet. Dropped, it was never there.
#[derive(Debug)]
pub struct Opening {
    /// What all its tiers share.
    pub shared: Arc<Shared>,
    /// Its name in the folder, by which peers of the node find it.
    pub bound: Bound,
    /// The folder.
    pub folder: Arc<Folder>,
    /// Keeps the process from having another port of this address; goes last.
    pub claim: Claim,
}

impl Opening {
    /// Takes a number: the one that is asked for, or one that is free elsewhere too, as `is_free` says.
    ///
    /// # Errors
    /// What is missing; the text says what to do.
    pub fn new(config: &PortConfig, is_free: impl Fn(Address) -> bool) -> Result<Self, OpenError> {
        sandbox::check_local()?;
        let folder = Folder::open(&config.folder)?;
        // Names that killed processes left, and that nobody else would come across ([SEM-1.3]).
        let _ = folder.sweep();
        let (bound, claim) = find_number(&folder, config, is_free)?;
        let friends = Friends {
            key: config.key.clone(),
            peer_keys: config.peer_keys.clone(),
            allow_uids: config.allow_uids.clone(),
        };
        Ok(Self {
            shared: Arc::new(Shared::new(bound.address(), friends)?),
            bound,
            folder: Arc::new(folder),
            claim,
        })
    }
}

/// Binds a number that no other port of this process has. An assigned one that a port in another folder has is
/// held until the next has been found.
fn find_number(
    folder: &Folder,
    config: &PortConfig,
    is_free: impl Fn(Address) -> bool,
) -> Result<(Bound, Claim), OpenError> {
    let open_to_others = !config.allow_uids.is_empty();
    let mut passed_over = Vec::new();
    loop {
        let bound = match config.number {
            Some(number) => outlast_children(
                || folder.bind(config.node, number, open_to_others),
                |error| matches!(error, FolderError::PortInUse { .. }),
            )?,
            None => folder.bind_any(config.node, open_to_others, &is_free)?,
        };
        match Claim::of(bound.address()) {
            Some(claim) => return Ok((bound, claim)),
            None if config.number.is_none() => passed_over.push(bound),
            None => return Err(OpenError::Twice(bound.address())),
        }
    }
}

/// The addresses of this process's ports.
static CLAIMED: PerProcess<Mutex<BTreeSet<Address>>> = PerProcess::new(Mutex::default);

/// An address that one port of this process has, until this is dropped.
#[derive(Debug)]
pub struct Claim {
    address: Address,
    /// A child that is forked has not claimed anything.
    process: u64,
}

impl Claim {
    fn of(address: Address) -> Option<Self> {
        let mut claimed = CLAIMED.get().lock().unwrap_or_else(PoisonError::into_inner);
        claimed.insert(address).then(|| Self {
            address,
            process: bcl_os::process::generation(),
        })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.process == bcl_os::process::generation() {
            let mut claimed = CLAIMED.get().lock().unwrap_or_else(PoisonError::into_inner);
            claimed.remove(&self.address);
        }
    }
}
