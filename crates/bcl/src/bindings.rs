//! For bindings to other languages, which bring their own safety: a port on raw memory.

pub use crate::core::Core;
pub use crate::shared::wait_unlocked;
pub use bcl_device::{Action, Atomic, Region, RegionPlace, Shared, Source, SystemHandle};

/// Faults the pages of a range in, as registering it does.
pub fn populate(start: *mut u8, len_bytes: usize) {
    crate::buffer::populate(start, len_bytes);
}
