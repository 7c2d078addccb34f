//! Numbers in bytes, little-endian. The offsets are constants of the formats, inside what has that length for sure.

#[inline]
fn at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut taken = [0; N];
    taken.copy_from_slice(&bytes[at..at + N]);
    taken
}

/// A number of 16 bits at an offset, which must lie in the bytes.
#[inline]
pub fn get_u16(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes(at(bytes, offset))
}

/// A number of 32 bits at an offset, which must lie in the bytes.
#[inline]
pub fn get_u32(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(at(bytes, offset))
}

/// A number of 64 bits at an offset, which must lie in the bytes.
#[inline]
pub fn get_u64(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(at(bytes, offset))
}

/// Writes a number of 16 bits at an offset, which must lie in the bytes.
#[inline]
pub fn put_u16(bytes: &mut [u8], offset: usize, value: u16) {
    bytes[offset..offset + 2].copy_from_slice(&value.to_le_bytes());
}

/// Writes a number of 32 bits at an offset, which must lie in the bytes.
#[inline]
pub fn put_u32(bytes: &mut [u8], offset: usize, value: u32) {
    bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
}

/// Writes a number of 64 bits at an offset, which must lie in the bytes.
#[inline]
pub fn put_u64(bytes: &mut [u8], offset: usize, value: u64) {
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}
