//! Opening a port on the shm tier.

use std::path::PathBuf;
use std::sync::Arc;

use bcl_node::sandbox::{self, Refused};
use bcl_node::{Bound, Folder, FolderError, JobKey};
use bcl_os::bell::Bell;
use bcl_os::fence;
use bcl_os::memfd::{self, Writers};
use bcl_os::sync::Ordering;
use bcl_tier::Shared;
use bcl_tier::page::{Identity, PAGE_LEN, Page};
use bcl_types::{Address, NodeId};
use rustix::io::Errno;

use crate::engine::port::ShmPort;
use crate::service::{CopyMode, Service, ShmShared};

/// What a port is to be.
#[derive(Debug, Clone)]
pub struct Config {
    /// Node number.
    pub node: NodeId,
    /// Port number, or `None` to be assigned one.
    pub number: Option<u16>,
    /// Rendezvous folder.
    pub folder: PathBuf,
    /// Key of the job.
    pub key: JobKey,
    /// Users besides our own that may connect.
    pub allow_uids: Vec<u32>,
    /// How long messages are copied.
    pub copy_mode: CopyMode,
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
    /// The background thread.
    #[error("cannot start the background thread: {0}")]
    Thread(std::io::Error),
}

impl ShmPort {
    /// Opens a port: from now on peers can find it. A number that is assigned is one that is free elsewhere too, as
    /// `is_free` says.
    pub fn open(config: &Config, is_free: impl Fn(Address) -> bool) -> Result<Self, OpenError> {
        sandbox::check_local()?;
        let folder = Folder::open(&config.folder)?;
        // Names that killed processes left, and that nobody else would come across ([SEM-1.3]).
        let _ = folder.sweep();
        let (page_fd, mapping) = memfd::create("bcl-port", PAGE_LEN, Writers::OnlyMe)?;
        let page = Page::new(mapping);
        let bell = Bell::new().map_err(OpenError::Bell)?;
        let (bound, service) = find_number(&folder, config, is_free)?;
        let address = bound.address();
        page.label(Identity {
            node: address.node.into(),
            port: address.port,
            pid: rustix::process::getpid().as_raw_nonzero().get() as u32,
            uid: rustix::process::geteuid().as_raw(),
        });
        fence::register();
        page.senders_fence()
            .store(u32::from(!fence::heavy()), Ordering::Relaxed);
        let shared = Arc::new(ShmShared::new(
            Arc::new(Shared::new(address, page, bell)),
            page_fd,
            config.key.clone(),
            config.allow_uids.clone(),
            config.copy_mode,
        ));
        let folder = Arc::new(folder);
        service.open_port(Arc::clone(&shared), bound, Arc::clone(&folder));
        Ok(Self::new(shared, service, folder))
    }
}

/// Binds a number that no other port of this process has. An assigned one that a port in another folder has is
/// held until the next has been found.
fn find_number(
    folder: &Folder,
    config: &Config,
    is_free: impl Fn(Address) -> bool,
) -> Result<(Bound, Service), OpenError> {
    let open_to_others = !config.allow_uids.is_empty();
    let mut passed_over = Vec::new();
    loop {
        let bound = match config.number {
            Some(number) => folder.bind(config.node, number, open_to_others)?,
            None => folder.bind_any(config.node, open_to_others, &is_free)?,
        };
        match Service::join(bound.address()) {
            Ok(service) => return Ok((bound, service)),
            Err(OpenError::Twice(_)) if config.number.is_none() => passed_over.push(bound),
            Err(error) => return Err(error),
        }
    }
}
