//! What a port and the background thread have in common in this tier.

use std::sync::{Arc, Mutex, PoisonError};

use bcl_node::{JobKey, uid_allowed};
use bcl_os::Fd;
use bcl_os::sync::{AtomicBool, Ordering};
use bcl_tier::Shared;

use super::{CopyMode, Notice};

/// See the module.
#[derive(Debug)]
pub struct ShmShared {
    /// What all tiers share.
    pub port: Arc<Shared>,
    pub page_fd: Fd,
    pub key: JobKey,
    pub allow_uids: Vec<u32>,
    pub copy_mode: CopyMode,
    notices: Mutex<Vec<Notice>>,
    has_notices: AtomicBool,
}

impl ShmShared {
    pub fn new(
        port: Arc<Shared>,
        page_fd: Fd,
        key: JobKey,
        allow_uids: Vec<u32>,
        copy_mode: CopyMode,
    ) -> Self {
        Self {
            port,
            page_fd,
            key,
            allow_uids,
            copy_mode,
            notices: Mutex::default(),
            has_notices: AtomicBool::new(false),
        }
    }

    /// Whether this user may be talked to, who will prove that it knows `key`.
    pub fn allows(&self, uid: u32, key: &JobKey) -> bool {
        let own_uid = rustix::process::geteuid().as_raw();
        uid_allowed(uid, own_uid, &self.allow_uids, key)
    }

    #[inline]
    pub fn has_notices(&self) -> bool {
        self.has_notices.load(Ordering::Relaxed)
    }

    pub fn take_notices(&self) -> Vec<Notice> {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_notices.store(false, Ordering::Relaxed);
        std::mem::take(&mut notices)
    }

    pub fn notify(&self, notice: Notice) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.push(notice);
        self.has_notices.store(true, Ordering::Relaxed);
        drop(notices);
        self.port.wake();
    }
}
