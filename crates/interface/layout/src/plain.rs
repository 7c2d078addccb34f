//! Values that are nothing but their bytes.

/// Types that go into the kernel's tables as they lie in memory.
///
/// # Safety
/// Any bytes are a value, and there is no padding.
pub unsafe trait Plain: Copy {
    /// All bytes 0.
    fn zeroed() -> Self {
        // SAFETY: any bytes are a value.
        unsafe { std::mem::zeroed() }
    }

    /// As it lies in memory.
    fn bytes(&self) -> &[u8] {
        // SAFETY: there is no padding, so that all bytes have been written.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }

    /// The same, to be written.
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and any bytes are a value.
        unsafe {
            std::slice::from_raw_parts_mut(std::ptr::from_mut(self).cast(), size_of::<Self>())
        }
    }
}

// SAFETY: a number.
unsafe impl Plain for u32 {}
// SAFETY: numbers of one length.
unsafe impl Plain for crate::counters::CountersPage {}
