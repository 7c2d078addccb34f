//! What a message must hold follows from what it is, so that nothing has to be remembered or carried along.

use bcl_types::Random;

/// Fills `bytes` with what belongs to `seed`.
pub fn fill(seed: u64, bytes: &mut [u8]) {
    let mut random = Random::new(seed);
    let mut words = bytes.chunks_exact_mut(8);
    for word in &mut words {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    let rest = words.into_remainder();
    rest.copy_from_slice(&random.next_u64().to_le_bytes()[..rest.len()]);
}

/// Whether `bytes` hold what belongs to `seed`.
pub(super) fn belong(seed: u64, bytes: &[u8]) -> bool {
    let mut random = Random::new(seed);
    let mut words = bytes.chunks_exact(8);
    words.all(|word| word == random.next_u64().to_le_bytes()) && {
        let rest = bytes.chunks_exact(8).remainder();
        rest == &random.next_u64().to_le_bytes()[..rest.len()]
    }
}

/// Mixes `parts` into one number.
pub(super) fn mix(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |seed, part| {
        Random::new(seed ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15)).next_u64()
    })
}

#[test]
fn what_was_filled_belongs() {
    for len in [0, 1, 7, 8, 9, 64, 1001] {
        let mut bytes = vec![0; len];
        fill(5, &mut bytes);
        assert!(belong(5, &bytes), "length {len}");
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
            assert!(!belong(5, &bytes), "length {len}");
        }
    }
    assert_ne!(mix(&[1, 2]), mix(&[2, 1]));
}
