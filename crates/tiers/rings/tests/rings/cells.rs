//! The ring of cells against a queue that is too simple to be wrong.

use std::collections::VecDeque;

use proptest::prelude::*;

use crate::cases;
use crate::memory::Direction;

proptest! {
    #![proptest_config(cases())]

    /// True sends, false receives; in rings of 1 to 32 cells.
    #[test]
    fn behaves_like_a_bounded_queue(log_cells in 0u32..6, sends in prop::collection::vec(any::<bool>(), 0..400)) {
        let capacity = 1usize << log_cells;
        let shared = Direction::new(capacity, 0);
        let (mut sender, mut receiver) = (shared.cell_sender(), shared.cell_receiver());
        let mut queue = VecDeque::new();
        for (number, is_send) in (1u64..).zip(sends) {
            if is_send {
                // The sender may not know of all the room there is, but it finds out before it gives up.
                let free = sender.free(1).unwrap() as usize;
                prop_assert_eq!(free == 0, queue.len() == capacity);
                prop_assert!(free <= capacity - queue.len());
                if free > 0 {
                    let words = [number << 32, number, 2, 3, 4, 5, u64::MAX, !number];
                    sender.send(&words);
                    queue.push_back(words);
                }
            } else {
                prop_assert_eq!(receiver.is_ready(), !queue.is_empty());
                prop_assert_eq!(receiver.receive(), queue.pop_front());
            }
        }
    }

    #[test]
    fn knows_of_all_room_when_it_wants_all(log_cells in 0u32..6, sent in 0usize..32, taken in 0usize..32) {
        let capacity = 1usize << log_cells;
        let sent = sent.min(capacity);
        let taken = taken.min(sent);
        let shared = Direction::new(capacity, 0);
        let (mut sender, mut receiver) = (shared.cell_sender(), shared.cell_receiver());
        for _ in 0..sent {
            sender.send(&[0; 8]);
        }
        for _ in 0..taken {
            receiver.receive().unwrap();
        }
        prop_assert_eq!(sender.free(u64::MAX).unwrap() as usize, capacity - sent + taken);
    }
}
