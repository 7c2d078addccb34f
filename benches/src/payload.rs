//! What messages carry, so that the receiver can tell whether it arrived whole.

use crate::error::{Error, Result};

/// `len` bytes that no slip of an offset maps onto themselves within a page.
pub fn make(len: usize) -> Vec<u8> {
    (0..len).map(byte_at).collect()
}

/// Checks bytes made by [`make`].
///
/// # Errors
/// [`Error::Spoilt`] with the first byte that differs.
pub fn check(bytes: &[u8]) -> Result<()> {
    let wrong = (0..bytes.len()).find(|at| bytes[*at] != byte_at(*at));
    wrong.map_or(Ok(()), |at_byte| Err(Error::Spoilt { at_byte }))
}

/// 251 is prime, so the pattern does not repeat with the pages.
fn byte_at(at: usize) -> u8 {
    (at * 31 % 251) as u8
}

#[test]
fn a_spoilt_byte_and_a_shifted_page_are_seen() {
    let mut bytes = make(10_000);
    assert!(check(&bytes).is_ok());
    assert!(check(&bytes[4096..]).is_err());
    bytes[7777] ^= 1;
    assert!(matches!(
        check(&bytes),
        Err(Error::Spoilt { at_byte: 7777 })
    ));
}
