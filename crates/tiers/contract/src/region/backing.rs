//! What a DMA buffer lies in, and how others may see it.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bcl_os::sync::{AtomicBool, Ordering};
use bcl_os::{Fd, memfd};

/// How a buffer may be mapped by others; decided by its first use ([SEM-6.4]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exposure {
    None,
    ReadOnly,
    Writable,
}

/// What a buffer lies in.
#[derive(Debug)]
pub struct Backing {
    /// Until the buffer ends.
    fd: Option<Arc<Fd>>,
    /// The interface program acts on it: `fd` is a map. Else it is a memfd.
    in_map: Option<InMap>,
    exposure: Exposure,
    /// How often it, or a part of it, is bound to a window.
    pub bindings: usize,
}

#[derive(Debug)]
struct InMap {
    memory: u32,
    port: Weak<AgentMemories>,
}

/// The agent's memories of a port, of which those are remembered that no buffer lies in any more.
#[derive(Debug, Default)]
pub struct AgentMemories {
    left: Mutex<Vec<u32>>,
    has_some: AtomicBool,
}

impl AgentMemories {
    /// A memory that nothing lies in any more.
    pub fn next_to_free(&self) -> Option<u32> {
        if !self.has_some.load(Ordering::Relaxed) {
            return None;
        }
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = left.pop();
        self.has_some.store(!left.is_empty(), Ordering::Relaxed);
        memory
    }

    fn leave(&self, memory: u32) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.push(memory);
        self.has_some.store(true, Ordering::Relaxed);
    }
}

impl Backing {
    pub fn memfd(fd: Fd) -> Self {
        Self {
            fd: Some(Arc::new(fd)),
            in_map: None,
            exposure: Exposure::None,
            bindings: 0,
        }
    }

    /// The agent's number for it, if it lies in a map of this port's.
    pub fn memory(&self, port: &Arc<AgentMemories>) -> Option<u32> {
        let in_map = self.in_map.as_ref()?;
        std::ptr::eq(in_map.port.as_ptr(), Arc::as_ptr(port)).then_some(in_map.memory)
    }

    /// Whether nobody would notice if it lay elsewhere, besides who has bound it once.
    pub fn can_move(&self) -> bool {
        self.exposure == Exposure::None && self.bindings <= 1
    }

    /// It lies there from now on.
    pub fn moved_to(&mut self, map: Fd, memory: u32, port: &Arc<AgentMemories>) {
        self.leave_map();
        self.fd = Some(Arc::new(map));
        self.in_map = Some(InMap {
            memory,
            port: Arc::downgrade(port),
        });
    }

    /// The buffer ends.
    pub fn close(&mut self) {
        self.fd = None;
        self.leave_map();
    }

    fn leave_map(&mut self) {
        if let Some(InMap { memory, port }) = self.in_map.take()
            && let Some(port) = port.upgrade()
        {
            port.leave(memory);
        }
    }

    pub fn fd(&self) -> Option<&Arc<Fd>> {
        self.fd.as_ref()
    }

    /// A map cannot be sealed, nor be mapped from a descriptor that only reads.
    pub fn expose_to_readers(&mut self) -> Option<Arc<Fd>> {
        let fd = self.fd.as_ref()?;
        if self.exposure == Exposure::None {
            if self.in_map.is_some() {
                return None;
            }
            memfd::seal_read_only(fd.as_fd()).ok()?;
            self.exposure = Exposure::ReadOnly;
        }
        Some(Arc::clone(fd))
    }

    pub fn expose_to_writers(&mut self) -> Option<Arc<Fd>> {
        let fd = self.fd.as_ref()?;
        if self.exposure == Exposure::None {
            if self.in_map.is_none() {
                memfd::seal_as_it_is(fd.as_fd()).ok()?;
            }
            self.exposure = Exposure::Writable;
        }
        (self.exposure == Exposure::Writable).then(|| Arc::clone(fd))
    }
}
