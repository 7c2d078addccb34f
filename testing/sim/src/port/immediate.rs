//! The immediate data of a message follow from its contents, so that every receiver can tell whether they are right.

use bcl_types::Random;

/// What goes with a message of these bytes: nothing with one in three.
pub fn immediate_of(bytes: &[u8]) -> u64 {
    let seed = bytes.iter().fold(bytes.len() as u64, |seed, byte| {
        seed.rotate_left(7) ^ u64::from(*byte)
    });
    let mut random = Random::new(seed);
    match random.one_in(3) {
        true => 0,
        false => random.next_u64(),
    }
}
