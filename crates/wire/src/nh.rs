//! NH, the universal hash of UMAC (RFC 4418, 5.2.2), with 32-bit words paired as they lie.

use crate::bytes::get_u64;
use crate::header::PAYLOAD_MAX;

/// Key words: one for each word of the longest payload.
pub const NH_WORDS: usize = PAYLOAD_MAX.div_ceil(8) * 2;

/// Two different inputs of one length have the same hash for at most one key in 2^32.
///
/// The input is padded with zeros to 8 bytes. Bytes beyond the key are not looked at: `parse` admits none.
#[inline]
pub fn nh(key: &[u32; NH_WORDS], input: &[u8]) -> u64 {
    let whole = input.chunks_exact(8);
    let rest = whole.remainder();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mut keys = key.chunks_exact(2);
    let mut sum = 0u64;
    for (pair, key) in whole.zip(&mut keys) {
        sum = sum.wrapping_add(product(get_u64(pair, 0), key));
    }
    match keys.next() {
        Some(key) if !rest.is_empty() => sum.wrapping_add(product(get_u64(&last, 0), key)),
        _ => sum,
    }
}

#[inline]
fn product(pair: u64, key: &[u32]) -> u64 {
    let low = (pair as u32).wrapping_add(key[0]);
    let high = ((pair >> 32) as u32).wrapping_add(key[1]);
    u64::from(low).wrapping_mul(u64::from(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_sum_of_products() {
        let mut key = [0; NH_WORDS];
        key[..4].copy_from_slice(&[5, u32::MAX, 7, 11]);
        let input = [1, 0, 0, 0, 2, 0, 0, 0, 3];
        let expected = (1 + 5) * (2 + u64::from(u32::MAX) - (1 << 32)) + (3 + 7) * 11;
        assert_eq!(nh(&key, &input), expected);
        assert_eq!(nh(&key, &[]), 0);
    }
}
