//! What the interface program has counted for a port ([MCP-7.1]): a page that this process can only read.

use std::os::fd::AsFd;

use bcl_layout::Counters as Layout;
use bcl_os::Fd;
use bcl_os::mapping::Mapping;
use bcl_os::sync::{AtomicU64, Ordering};
use rustix::io::Errno;

/// The counters of a port, mapped to be read.
#[derive(Debug)]
pub struct Counters(Mapping);

impl Counters {
    /// Maps the page.
    ///
    /// # Errors
    /// What the kernel says of a descriptor that is no such page.
    pub fn map(fd: Fd) -> Result<Self, Errno> {
        let page_bytes = rustix::param::page_size();
        Ok(Self(Mapping::new(fd.as_fd(), 0, page_bytes, false)?))
    }

    /// Names and values.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
        (0..)
            .zip(Layout::NAMES.iter().copied())
            .map(|(index, name)| {
                // SAFETY: within the page, which has room for more words than there are names; the interface program adds to
                // them atomically.
                let counter: &AtomicU64 = unsafe { self.0.start().cast().add(index).as_ref() };
                (name, counter.load(Ordering::Relaxed))
            })
    }
}
