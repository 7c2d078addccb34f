//! Memory of a port that the interface program reads and writes.

use bcl_wire::RmaStatus;

/// Memory that peers may read or write, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// At least as long as the window; empty while it is bound to nothing.
    pub memory: Vec<u8>,
    /// Its length.
    pub len_bytes: u64,
    /// Bits of GET 1, PUT 2, ATOMIC 4, NOTIFY 8.
    pub access: u32,
}

impl Window {
    /// Whether a peer may have such access to these bytes.
    pub(crate) fn permits(&self, offset: u64, len_bytes: u64, need: u32) -> RmaStatus {
        let end = offset.checked_add(len_bytes);
        match end {
            _ if self.memory.is_empty() => RmaStatus::NoWindow,
            _ if self.access & need == 0 => RmaStatus::Denied,
            Some(end) if end <= self.len_bytes => RmaStatus::Ok,
            _ => RmaStatus::Range,
        }
    }

    /// These bytes, if all are inside.
    pub(crate) fn range(&mut self, offset: u64, len_bytes: u64) -> Option<&mut [u8]> {
        let end = offset.checked_add(len_bytes)?;
        if self.memory.is_empty() || end > self.len_bytes {
            return None;
        }
        self.memory
            .get_mut(usize::try_from(offset).ok()?..usize::try_from(end).ok()?)
    }
}
