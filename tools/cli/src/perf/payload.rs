//! What the messages of a measurement contain, and whether it has arrived.
//!
//! While the clock runs only the ends of a message are written and looked at: a whole one would measure this
//! program's own loops. Before and after, every byte is.

use crate::failure::{Failure, Result};

/// How closely a message is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Its first and last 8 bytes carry its number.
    Ends,
    /// Every byte depends on its place and on the number.
    All,
}

const END: usize = 8;

/// Writes message `number`.
#[inline]
pub fn write(bytes: &mut [u8], number: u64, check: Check) {
    match check {
        Check::Ends => write_ends(bytes, number),
        Check::All => {
            for (place, byte) in bytes.iter_mut().enumerate() {
                *byte = expected(place, number);
            }
        }
    }
}

/// Checks message `number`.
#[inline]
pub fn verify(bytes: &[u8], len: usize, number: u64, check: Check) -> Result<()> {
    let right = bytes.len() == len
        && match check {
            Check::Ends => ends_are(bytes, number),
            Check::All => {
                let mut places = bytes.iter().enumerate();
                places.all(|(place, byte)| *byte == expected(place, number))
            }
        };
    match right {
        true => Ok(()),
        false => Err(spoiled(bytes.len(), len, number)),
    }
}

#[inline]
fn write_ends(bytes: &mut [u8], number: u64) {
    let stamp = number.to_le_bytes();
    if let Some(head) = bytes.first_chunk_mut::<END>() {
        *head = stamp;
        if let Some(tail) = bytes.last_chunk_mut::<END>() {
            *tail = stamp;
        }
    } else {
        let len = bytes.len();
        bytes.copy_from_slice(&stamp[..len]);
    }
}

#[inline]
fn ends_are(bytes: &[u8], number: u64) -> bool {
    let stamp = number.to_le_bytes();
    match (bytes.first_chunk::<END>(), bytes.last_chunk::<END>()) {
        // Below 16 bytes the ends overlap, and the last one written counts.
        (Some(head), Some(tail)) => *tail == stamp && (bytes.len() < 2 * END || *head == stamp),
        _ => *bytes == stamp[..bytes.len()],
    }
}

#[inline]
fn expected(place: usize, number: u64) -> u8 {
    // Neighbouring bytes, cache lines and pages differ, and so do messages.
    let mixed = (place as u64 ^ number.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}

#[cold]
fn spoiled(got: usize, len: usize, number: u64) -> Failure {
    Failure::new(format!(
        "message {number} arrived wrong: {got} bytes instead of {len}, or other ones than were sent; this is a bug in BCL, please report it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: [usize; 9] = [0, 1, 7, 8, 9, 15, 16, 17, 5000];

    #[test]
    fn what_is_written_is_right() {
        for check in [Check::Ends, Check::All] {
            for len in LENGTHS {
                let mut bytes = vec![0xee; len];
                write(&mut bytes, 77, check);
                assert!(verify(&bytes, len, 77, check).is_ok(), "{check:?} {len}");
            }
        }
    }

    #[test]
    fn another_number_or_length_is_wrong() {
        for check in [Check::Ends, Check::All] {
            for len in LENGTHS.into_iter().filter(|len| *len > 0) {
                let mut bytes = vec![0xee; len];
                write(&mut bytes, 77, check);
                assert!(verify(&bytes, len, 78, check).is_err(), "{check:?} {len}");
                assert!(verify(&bytes, len + 1, 77, check).is_err());
            }
        }
    }

    #[test]
    fn a_single_spoiled_byte_is_found() {
        let mut bytes = vec![0; 5000];
        write(&mut bytes, 3, Check::All);
        bytes[2500] ^= 1;
        assert!(verify(&bytes, 5000, 3, Check::All).is_err());
        for end in [0, 4999] {
            write(&mut bytes, 3, Check::Ends);
            bytes[end] ^= 1;
            assert!(verify(&bytes, 5000, 3, Check::Ends).is_err());
        }
    }
}
