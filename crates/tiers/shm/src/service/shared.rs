//! What a port and the background thread have in common in this tier.

use std::sync::{Arc, Mutex, PoisonError};

use bcl_os::sync::{AtomicBool, Ordering};
use bcl_tier::Shared;

use super::{CopyMode, Notice};

/// A port as its program and the service thread see it.
#[derive(Debug)]
pub struct ShmShared {
    /// What all tiers share.
    pub port: Arc<Shared>,
    pub copy_mode: CopyMode,
    notices: Mutex<Vec<Notice>>,
    has_notices: AtomicBool,
}

impl ShmShared {
    pub fn new(port: Arc<Shared>, copy_mode: CopyMode) -> Self {
        Self {
            port,
            copy_mode,
            notices: Mutex::default(),
            has_notices: AtomicBool::new(false),
        }
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
