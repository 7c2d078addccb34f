//! What a port's program and the background threads of its tiers have in common.

use std::os::fd::BorrowedFd;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bcl_node::{JobKey, uid_allowed};
use bcl_os::Fd;
use bcl_os::bell::{self, Bell};
use bcl_os::fence;
use bcl_os::memfd::{self, Writers};
use bcl_os::ready;
use bcl_os::sync::{self, Ordering};
use bcl_types::Address;
use rustix::io::Errno;

use crate::open::OpenError;
use crate::page::{Identity, PAGE_LEN, Page};
use crate::peer_keys::PeerKeys;
use crate::window::WindowTable;

/// With whom a port talks.
#[derive(Debug, Clone)]
pub struct Friends {
    /// Whoever proves that it knows this key,
    pub key: JobKey,
    /// or whom we prove that we know one of these, where there is one for it,
    pub peer_keys: PeerKeys,
    /// and whose user is the port's, root or one of these.
    pub allow_uids: Vec<u32>,
}

/// What a port's program and the background threads of its tiers have in common.
#[derive(Debug)]
pub struct Shared {
    /// The port's address.
    pub address: Address,
    /// What everybody may read.
    pub page: Page,
    /// Its descriptor, for those who are to read it.
    pub page_fd: Fd,
    friends: Friends,
    /// Rung by peers, and by threads, while the port sleeps.
    pub bell: Bell,
    windows: Mutex<WindowTable>,
    failure: OnceLock<String>,
}

impl Shared {
    /// A port without windows, with a page and a bell of its own.
    ///
    /// # Errors
    /// When there is no memory, or there are no descriptors for these.
    pub fn new(address: Address, friends: Friends) -> Result<Self, OpenError> {
        let (page_fd, mapping) = memfd::create("bcl-port", PAGE_LEN, Writers::OnlyMe)?;
        let page = Page::new(mapping);
        page.label(Identity {
            node: address.node.into(),
            port: address.port,
            pid: rustix::process::getpid().as_raw_nonzero().get() as u32,
            uid: rustix::process::geteuid().as_raw(),
        });
        fence::register();
        page.senders_fence()
            .store(u32::from(!fence::heavy()), Ordering::Relaxed);
        Ok(Self {
            address,
            page,
            page_fd,
            friends,
            bell: Bell::new().map_err(OpenError::Bell)?,
            windows: Mutex::default(),
            failure: OnceLock::new(),
        })
    }

    /// The port's key, which those prove to know who make contact with it.
    pub fn key(&self) -> &JobKey {
        &self.friends.key
    }

    /// The key of a peer's port, which is proved to it on contact: the port's own, if no other is known.
    pub fn key_of(&self, peer: Address) -> JobKey {
        let known = self.friends.peer_keys.get(peer);
        known.unwrap_or_else(|| self.friends.key.clone())
    }

    /// Whether this user may be talked to, who will prove that it knows `key`.
    pub fn allows(&self, uid: u32, key: &JobKey) -> bool {
        let own_uid = rustix::process::geteuid().as_raw();
        uid_allowed(uid, own_uid, &self.friends.allow_uids, key)
    }

    /// Why the port is of no use any more, if a background thread of it has died.
    #[inline]
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// The port is of no use from now on; who sleeps on it wakes. The first reason counts.
    pub(crate) fn fail(&self, why: String) {
        let _ = self.failure.set(why);
        self.wake();
    }

    /// The port's windows; held by a thread while it acts on one for a peer.
    pub fn windows(&self) -> MutexGuard<'_, WindowTable> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rings the port's own bell if it sleeps. What it is to find must have been stored before.
    pub fn wake(&self) {
        sync::fence(Ordering::SeqCst);
        if self.page.sleep_epoch().load(Ordering::Relaxed) & 1 == 1 {
            bell::ring(self.bell.ringer());
        }
    }

    /// Waits until the bell rings, or one of `others` is readable; false on timeout. Several threads can wait together.
    ///
    /// # Errors
    /// What poll(2) says.
    pub fn wait<'a>(
        &'a self,
        others: impl IntoIterator<Item = BorrowedFd<'a>>,
        timeout: Option<Duration>,
    ) -> Result<bool, Errno> {
        ready::wait_for([self.bell.as_fd()].into_iter().chain(others), timeout)
    }

    /// Whether somebody has rung since the bell was silenced.
    pub fn was_rung(&self) -> bool {
        ready::is_readable(self.bell.as_fd())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::*;

    /// A port that nobody can find.
    pub fn port() -> Arc<Shared> {
        let address = "127.0.0.1:7".parse().unwrap();
        let friends = Friends {
            key: JobKey::of_user(0),
            peer_keys: PeerKeys::default(),
            allow_uids: Vec::new(),
        };
        Arc::new(Shared::new(address, friends).unwrap())
    }
}
