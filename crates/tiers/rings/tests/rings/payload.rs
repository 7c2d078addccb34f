//! The byte ring: places never overlap, never cross the end, and both ends compute the same.

use std::collections::VecDeque;

use bcl_rings::bytes::max_len_bytes;
use proptest::prelude::*;

use crate::cases;
use crate::memory::Direction;

#[derive(Debug, Clone)]
enum Step {
    /// A payload, as a part of the longest (in 1/1000).
    Send(u32),
    /// The receiver takes the next payload that was sent.
    Take,
    /// The receiver releases the oldest payload that it has taken.
    Release,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0u32..=1000).prop_map(Step::Send),
        Just(Step::Take),
        Just(Step::Release),
    ];
    prop::collection::vec(step, 0..if cfg!(miri) { 40 } else { 200 })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn places_do_not_overlap_and_both_ends_agree(lines in 2u32..80, steps in steps()) {
        let shared = Direction::new(0, lines * 64);
        let (mut sender, mut receiver) = (shared.byte_sender(), shared.byte_receiver());
        // Offset and length of what was sent and not taken, and of what was taken and not released.
        let mut sent: VecDeque<(u32, u32)> = VecDeque::new();
        let mut taken: VecDeque<(u32, u32, u64)> = VecDeque::new();
        for step in steps {
            match step {
                Step::Send(part) => {
                    let len = (u64::from(max_len_bytes(shared.len_bytes())) * u64::from(part) / 1000) as u32;
                    let Some(place) = sender.reserve(len).unwrap() else {
                        prop_assert!(!sent.is_empty() || !taken.is_empty(), "an empty ring has no room");
                        continue;
                    };
                    let offset = shared.offset_of(place, len);
                    prop_assert_eq!(offset % 64, 0);
                    let held = sent.iter().copied().chain(taken.iter().map(|(at, len, _)| (*at, *len)));
                    for (other, other_len) in held {
                        prop_assert!(offset + len <= other || other + other_len <= offset || len.min(other_len) == 0);
                    }
                    sent.push_back((offset, len));
                }
                Step::Take => {
                    if let Some((offset, len)) = sent.pop_front() {
                        let (place, end) = receiver.take(len).unwrap();
                        prop_assert_eq!(shared.offset_of(place, len), offset);
                        taken.push_back((offset, len, end));
                    }
                }
                Step::Release => {
                    if let Some((_, _, end)) = taken.pop_front() {
                        receiver.release(end);
                    }
                }
            }
        }
    }

    /// Wherever the tail stands: what is not longer than half the ring fits once all is released.
    #[test]
    fn half_the_ring_always_fits_in_the_end(lines in 2u32..80, first in 0u32..80, part in 0u32..=1000) {
        let shared = Direction::new(0, lines * 64);
        let longest = max_len_bytes(shared.len_bytes());
        let (mut sender, mut receiver) = (shared.byte_sender(), shared.byte_receiver());
        for _ in 0..first {
            sender.reserve(64.min(longest)).unwrap().unwrap();
            let (_, end) = receiver.take(64.min(longest)).unwrap();
            receiver.release(end);
        }
        let len = (u64::from(longest) * u64::from(part) / 1000) as u32;
        prop_assert!(sender.reserve(len).unwrap().is_some());
    }
}
