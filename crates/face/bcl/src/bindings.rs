//! For bindings to other languages, which bring their own safety: a port on raw memory.

use std::sync::Arc;

use crate::buffer::{Buffer, DmaBuffer};

pub use crate::bed::Bed;
pub use crate::cache::{CacheCounts, Memory, RegionCache};
pub use crate::core::Core;
pub use crate::shared::wait_unlocked;
pub use bcl_os::cancel;
pub use bcl_tier::{Action, Region, RegionPlace, Source, SystemHandle};
pub use bcl_types::Atomic;

/// Faults the pages of a range in, as registering it does. False if they are not all mapped.
pub fn populate(start: *mut u8, len_bytes: usize) -> bool {
    crate::buffer::populate(start, len_bytes)
}

/// What keeps a DMA buffer alive for as long as an operation has it.
pub fn hold(region: Arc<Region>) -> Buffer {
    Buffer::Dma(DmaBuffer::of(region))
}
