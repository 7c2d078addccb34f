//! The segment: the byte offsets of version 1 ([SHM-2]), and geometry that a peer chose.

use std::os::fd::AsFd;

use bcl_os::mapping::Mapping;
use bcl_os::memfd::{self, Writers};
use bcl_os::sync::Ordering;
use bcl_rings::pair::{Geometry, HEADER_LEN, PairEnd, Side};
use proptest::prelude::*;

use crate::cases;

/// Three mappings of one segment: one for each end, one to look at the bytes.
fn mapped_thrice(len_bytes: usize) -> [Mapping; 3] {
    let (fd, first) = memfd::create("bcl-test", len_bytes, Writers::Anybody).unwrap();
    let again = || memfd::adopt(fd.as_fd(), len_bytes, true).unwrap();
    [first, again(), again()]
}

fn word(bytes: &Mapping, offset: usize) -> u64 {
    assert!(offset + 8 <= bytes.len_bytes());
    // SAFETY: inside the mapping; the tests do not write meanwhile.
    unsafe { bytes.start().add(offset).cast::<u64>().read_unaligned() }
}

fn half_word(bytes: &Mapping, offset: usize) -> u32 {
    word(bytes, offset) as u32
}

#[test]
fn a_pair_segment_lies_as_the_specification_says() {
    let geometry = Geometry::DEFAULT;
    assert_eq!(geometry.segment_len(), 140 << 10);
    let [connector, acceptor, bytes] = mapped_thrice(geometry.segment_len());
    let mut connector = PairEnd::new(connector, geometry, Side::Connector);
    let mut acceptor = PairEnd::new(acceptor, geometry, Side::Acceptor);
    connector.label(3, geometry);
    assert_eq!(&word(&bytes, 0).to_le_bytes(), b"BCLPAIR\0");
    assert_eq!(half_word(&bytes, 8), 3);
    assert_eq!(
        [12, 16, 20].map(|at| half_word(&bytes, at)),
        [128, 28672, 32768]
    );

    for (end, wishes, returns) in [(&connector, 64, 256), (&acceptor, 128, 192)] {
        end.my_wishes().returns.store(5, Ordering::Relaxed);
        end.my_wishes().closing.store(6, Ordering::Relaxed);
        assert_eq!([0, 4].map(|at| half_word(&bytes, wishes + at)), [5, 6]);
        let line = end.my_returns();
        line.cells.store(11, Ordering::Relaxed);
        line.pool.store(12, Ordering::Relaxed);
        line.stream.store(13, Ordering::Relaxed);
        line.system.store(14, Ordering::Relaxed);
        line.tell_handled(15);
        assert_eq!(
            [0, 8, 16, 24, 32].map(|at| word(&bytes, returns + at)),
            [11, 12, 13, 14, 15]
        );
        line.cells.store(0, Ordering::Relaxed);
        line.pool.store(0, Ordering::Relaxed);
        line.stream.store(0, Ordering::Relaxed);
    }

    let direction = 128 * 64 + 28672 + 32768;
    for (end, start) in [
        (&mut connector, HEADER_LEN),
        (&mut acceptor, HEADER_LEN + direction),
    ] {
        end.cells_out
            .send(&[0x0102_0304 << 32, 1, 2, 3, 4, 5, 6, 7]);
        let words: [u64; 8] = std::array::from_fn(|index| word(&bytes, start + 8 * index));
        assert_eq!(words, [0x0102_0304_0000_0001, 1, 2, 3, 4, 5, 6, 7]);
        for (ring, offset) in [
            (&mut end.pool_out, 128 * 64),
            (&mut end.stream_out, 128 * 64 + 28672),
        ] {
            let place = ring.reserve(8).unwrap().unwrap();
            // SAFETY: eight bytes were reserved.
            unsafe { place.cast::<u64>().write(0xdead) };
            assert_eq!(word(&bytes, start + offset), 0xdead);
        }
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn sound_geometry_has_bounds(cells in size(), pool_bytes in size(), stream_bytes in size()) {
        let geometry = Geometry { cells, pool_bytes, stream_bytes };
        if geometry.is_sound() {
            prop_assert!(geometry.segment_len() <= HEADER_LEN + 2 * ((4 << 20) + (32 << 20)));
            prop_assert!(pool_bytes % 64 == 0 && stream_bytes % 64 == 0 && cells.is_power_of_two());
        }
    }
}

/// Sizes that might pass, and any others.
fn size() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        (0u32..32).prop_map(|log| 1 << log),
        (0u32..1 << 20).prop_map(|lines| lines * 64),
    ]
}
