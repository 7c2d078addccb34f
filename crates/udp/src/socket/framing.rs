//! Where coalesced datagrams part when the kernel has not said so.

use super::HEADER_BYTES;

/// Below this, nothing can have been coalesced: two datagrams have two headers.
pub(super) const SURELY_ONE_BYTES: usize = 2 * HEADER_BYTES;

/// The length of each datagram in `bytes` but the last, by what they claim of themselves.
///
/// The kernel coalesces only datagrams of one length and then at most one shorter, so the claims must make that
/// pattern. If they do not, all is taken for one datagram, and its reader will refuse it.
pub(super) fn segment_bytes(bytes: &[u8], claimed_bytes: fn(&[u8]) -> usize) -> usize {
    let whole = bytes.len();
    if whole < SURELY_ONE_BYTES {
        return whole;
    }
    let first = claimed_bytes(bytes);
    if first < HEADER_BYTES || first >= whole {
        return whole;
    }
    let agree = bytes.chunks(first).all(|datagram| {
        datagram.len() >= HEADER_BYTES && claimed_bytes(datagram) == datagram.len()
    });
    if agree { first } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A datagram of these tests claims its length in its first two bytes.
    fn claimed(bytes: &[u8]) -> usize {
        usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn datagram(len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        bytes[..2].copy_from_slice(&(len as u16).to_le_bytes());
        bytes
    }

    #[test]
    fn what_does_not_agree_stays_whole() {
        let mut bytes = [datagram(100), datagram(100), datagram(70)].concat();
        assert_eq!(segment_bytes(&bytes, claimed), 100);
        bytes[200] = 71;
        assert_eq!(segment_bytes(&bytes, claimed), 270);
        bytes.truncate(230);
        assert_eq!(segment_bytes(&bytes, claimed), 230);
    }

    proptest! {
        #[test]
        fn what_the_kernel_coalesces_is_parted(
            len in 64..2000_usize,
            count in 0..20_usize,
            last in 64..2000_usize,
        ) {
            let last = last.min(len);
            let bytes = [vec![datagram(len); count].concat(), datagram(last)].concat();
            let segment = segment_bytes(&bytes, claimed);
            prop_assert_eq!(bytes.chunks(segment).count(), count + 1);
        }

        #[test]
        fn no_input_is_parted_into_nothing(bytes in prop::collection::vec(any::<u8>(), 2..300)) {
            let segment = segment_bytes(&bytes, claimed);
            prop_assert!((1..=bytes.len()).contains(&segment));
        }
    }
}
