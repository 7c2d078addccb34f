//! NH, the universal hash of UMAC (RFC 4418, 5.2.2), but with 32-bit words paired as they lie ([WIRE-3.2]).

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;

use crate::bytes::{get_u64, put_u64};
use crate::header::PAYLOAD_MAX;

/// Length of the key in bytes: one byte for each of the longest payload, and some to spare.
pub const NH_KEY_LEN: usize = 9216;

const _: () = assert!(PAYLOAD_MAX <= NH_KEY_LEN);

/// Words of 64 bits that are hashed side by side: as many products as two of the widest registers hold.
const LANES: usize = 16;

/// The key, two words of 32 bits in one of 64. Aligned, so that no load of it crosses a cache line.
#[derive(Clone)]
#[repr(align(64))]
pub struct NhKey([u64; NH_KEY_LEN / 8]);

impl NhKey {
    /// From the form in which it is derived ([WIRE-3.3]).
    pub fn from_bytes(bytes: &[u8; NH_KEY_LEN]) -> Self {
        Self(core::array::from_fn(|index| get_u64(bytes, 8 * index)))
    }

    pub fn to_bytes(&self) -> [u8; NH_KEY_LEN] {
        let mut bytes = [0; NH_KEY_LEN];
        for (index, word) in self.0.iter().enumerate() {
            put_u64(&mut bytes, 8 * index, *word);
        }
        bytes
    }
}

/// Two different inputs of one length have the same hash for at most one key in 2^32 ([WIRE-3.2]).
///
/// The input is padded with zeros to 8 bytes. Bytes beyond the key are not looked at: `parse` admits none.
#[inline]
pub fn nh(key: &NhKey, input: &[u8]) -> u64 {
    let (whole, rest) = input.split_at(input.len() & !7);
    let (keys, keys_after) = key.0.split_at(key.0.len().min(whole.len() / 8));
    let sum = quickly(keys, whole);
    match keys_after.first() {
        Some(key) if !rest.is_empty() => {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            sum.wrapping_add(product(*key, u64::from_le_bytes(last)))
        }
        _ => sum,
    }
}

/// By what this machine does best.
#[inline]
fn quickly(keys: &[u64], input: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if let Some((sum, words)) = avx2::sum_of_products(keys, input) {
        return sum.wrapping_add(sum_of_products(&keys[words..], &input[8 * words..]));
    }
    sum_of_products(keys, input)
}

/// Written so that the compiler makes vector code of it, whatever vectors the machine has: the lanes do not
/// depend on each other.
#[inline]
fn sum_of_products(keys: &[u64], input: &[u8]) -> u64 {
    let key_blocks = keys.chunks_exact(LANES);
    let input_blocks = input.chunks_exact(8 * LANES);
    let keys_after = key_blocks.remainder();
    let input_after = input_blocks.remainder();
    let mut sums = [0u64; LANES];
    for (keys, block) in key_blocks.zip(input_blocks) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum = sum.wrapping_add(product(keys[lane], get_u64(block, 8 * lane)));
        }
    }
    let sum = sums.into_iter().fold(0, u64::wrapping_add);
    keys_after
        .iter()
        .zip(input_after.chunks_exact(8))
        .map(|(key, pair)| product(*key, get_u64(pair, 0)))
        .fold(sum, u64::wrapping_add)
}

#[inline(always)]
fn product(key: u64, pair: u64) -> u64 {
    let low = (key as u32).wrapping_add(pair as u32);
    let high = ((key >> 32) as u32).wrapping_add((pair >> 32) as u32);
    u64::from(low).wrapping_mul(u64::from(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_sum_of_products() {
        let mut key = [0; NH_KEY_LEN];
        for (word, bytes) in [5, u32::MAX, 7, 11].iter().zip(key.chunks_exact_mut(4)) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let key = NhKey::from_bytes(&key);
        let input = [1, 0, 0, 0, 2, 0, 0, 0, 3];
        let expected = (1 + 5) * (2 + u64::from(u32::MAX) - (1 << 32)) + (3 + 7) * 11;
        assert_eq!(nh(&key, &input), expected);
        assert_eq!(nh(&key, &[]), 0);
    }

    #[test]
    fn lanes_and_what_is_left_over_make_one_sum() {
        let bytes: [u8; NH_KEY_LEN] = core::array::from_fn(|at| (at * at % 251) as u8);
        let key = NhKey::from_bytes(&bytes);
        for len in (0..600).chain(PAYLOAD_MAX - 9..=NH_KEY_LEN) {
            let input = &bytes[..len];
            let expected = key
                .0
                .iter()
                .zip(input.chunks(8))
                .fold(0u64, |sum, (key, chunk)| {
                    let mut pair = [0; 8];
                    pair[..chunk.len()].copy_from_slice(chunk);
                    sum.wrapping_add(product(*key, u64::from_le_bytes(pair)))
                });
            assert_eq!(nh(&key, input), expected, "{len} bytes");
            let (whole, rest) = input.split_at(len & !7);
            if rest.is_empty() {
                assert_eq!(
                    sum_of_products(&key.0[..len / 8], whole),
                    expected,
                    "{len} bytes"
                );
            }
        }
    }

    #[test]
    fn more_than_the_key_is_no_reason_to_panic() {
        let key = NhKey::from_bytes(&[1; NH_KEY_LEN]);
        let input = [2; NH_KEY_LEN + 9];
        assert_eq!(nh(&key, &input), nh(&key, &input[..NH_KEY_LEN]));
    }
}
