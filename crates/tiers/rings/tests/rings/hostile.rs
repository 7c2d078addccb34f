//! Peers that write what no correct peer writes: an error or a smaller share of the ring, never a
//! place outside it and never a panic ([SHM-8]).

use bcl_os::sync::Ordering;
use bcl_rings::bytes::max_len_bytes;
use proptest::prelude::*;

use crate::cases;
use crate::memory::Direction;

/// Counts near those that are right, and any others.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..40,
        (0u64..40).prop_map(|n| n * 64),
        any::<u64>(),
        (0u64..40).prop_map(|n| u64::MAX - n)
    ]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_forged_count_of_cells_gives_no_more_room_than_the_ring(log_cells in 0u32..6, counts in prop::collection::vec(count(), 1..100)) {
        let capacity = 1u64 << log_cells;
        let shared = Direction::new(capacity as usize, 0);
        let mut sender = shared.cell_sender();
        let (mut sent, mut believed) = (0, 0);
        for forged in counts {
            shared.line.cells.store(forged, Ordering::Relaxed);
            let lies = forged < believed || forged > sent;
            match sender.free(u64::MAX) {
                Err(_) => prop_assert!(lies),
                Ok(free) => {
                    prop_assert!(!lies);
                    prop_assert_eq!(free, capacity - (sent - forged));
                    believed = forged;
                    for _ in 0..free {
                        sender.send(&[0; 8]);
                        sent += 1;
                    }
                }
            }
        }
    }

    #[test]
    fn a_forged_count_of_bytes_gives_no_place_outside_the_ring(lines in 2u32..40, steps in prop::collection::vec((count(), any::<u32>()), 1..100)) {
        let shared = Direction::new(0, lines * 64);
        let mut sender = shared.byte_sender();
        for (forged, len) in steps {
            shared.line.stream.store(forged, Ordering::Relaxed);
            let len = len % (max_len_bytes(shared.len_bytes()) + 1);
            if let Ok(Some(place)) = sender.reserve(len) {
                shared.offset_of(place, len);
            }
        }
    }

    #[test]
    fn an_announced_length_reaches_nothing_outside_the_ring(lines in 2u32..40, lens in prop::collection::vec(prop_oneof![any::<u32>(), 0u32..4000], 1..100)) {
        let shared = Direction::new(0, lines * 64);
        let mut receiver = shared.byte_receiver();
        for len in lens {
            match receiver.take(len) {
                Ok((place, _)) => { shared.offset_of(place, len); }
                Err(_) => prop_assert!(len > max_len_bytes(shared.len_bytes())),
            }
        }
    }

    /// A peer that writes any words into the ring is read a ring at a time at most.
    #[test]
    fn forged_cells_are_taken_in_turn_or_not_at_all(log_cells in 0u32..6, words in prop::collection::vec(any::<u64>(), 8), from in 0u64..100) {
        let capacity = 1usize << log_cells;
        let shared = Direction::new(capacity, 0);
        let mut forger = shared.cell_sender();
        for number in 0..from.min(capacity as u64) {
            let mut forged = [words[1], words[2], words[3], words[4], words[5], words[6], words[7], number];
            forged[0] &= !0xffff_ffff;
            forger.send(&forged);
        }
        let mut receiver = shared.cell_receiver();
        let mut taken = 0;
        while let Some(words) = receiver.receive() {
            prop_assert_eq!(words[0] & 0xffff_ffff, 0);
            taken += 1;
            prop_assert!(taken <= capacity);
        }
        prop_assert_eq!(taken as u64, from.min(capacity as u64));
    }
}
