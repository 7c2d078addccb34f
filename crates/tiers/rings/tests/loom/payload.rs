//! The byte ring: payload is all there when the cell that announces it is, and stays until released.

use loom::thread;

use crate::memory::{Direction, LINE_BYTES, number_of, numbered, until};

/// Sends payloads of `lens` bytes through a ring of `lines`, each announced by a cell, and checks
/// them at the other end. loom fails it if a byte is written while the receiver may still read it.
fn payloads_arrive_whole(lines: usize, lens: &'static [u32]) {
    loom::model(move || {
        let shared = Direction::new(lens.len().next_power_of_two(), lines);
        let peer = shared.clone();
        let sender = thread::spawn(move || {
            let mut cells = peer.cell_sender();
            let mut bytes = peer.byte_sender();
            for (number, len_bytes) in (1..).zip(lens) {
                let place = until(|| bytes.reserve(*len_bytes).expect("a correct peer"));
                peer.fill(place, *len_bytes, number);
                cells.send(&numbered(number));
            }
        });
        let mut cells = shared.cell_receiver();
        let mut bytes = shared.byte_receiver();
        for (number, len_bytes) in (1..).zip(lens) {
            assert_eq!(number_of(&until(|| cells.receive())), number);
            let (place, end) = bytes.take(*len_bytes).expect("a correct peer");
            assert!(shared.holds(place, *len_bytes, number), "a torn payload");
            bytes.release(end);
        }
        sender.join().expect("the sender's thread");
    });
}

#[test]
fn payloads_are_whole_and_their_room_returns() {
    payloads_arrive_whole(2, &[LINE_BYTES, LINE_BYTES, LINE_BYTES]);
}

#[test]
fn a_payload_that_would_cross_the_end_waits_for_the_start() {
    payloads_arrive_whole(5, &[LINE_BYTES, 2 * LINE_BYTES, LINE_BYTES, 2 * LINE_BYTES]);
}

#[test]
fn a_payload_read_in_place_is_not_overwritten_before_its_release() {
    loom::model(|| {
        let shared = Direction::new(2, 2);
        let peer = shared.clone();
        let sender = thread::spawn(move || {
            let mut cells = peer.cell_sender();
            let mut bytes = peer.byte_sender();
            for number in 1..=3 {
                // The third has room only once the first is released.
                match bytes.reserve(LINE_BYTES).expect("a correct peer") {
                    Some(place) => peer.fill(place, LINE_BYTES, number),
                    None => return,
                }
                if number < 3 {
                    cells.send(&numbered(number));
                }
            }
        });
        let mut cells = shared.cell_receiver();
        let mut bytes = shared.byte_receiver();
        until(|| cells.receive());
        let (first, first_end) = bytes.take(LINE_BYTES).expect("a correct peer");
        until(|| cells.receive());
        let (second, _) = bytes.take(LINE_BYTES).expect("a correct peer");
        assert!(shared.holds(first, LINE_BYTES, 1));
        bytes.release(first_end);
        assert!(shared.holds(second, LINE_BYTES, 2));
        sender.join().expect("the sender's thread");
    });
}

/// A place on a stage, which is no ring: it is written anew once its piece has been counted as taken.
#[test]
fn a_piece_on_a_stage_is_whole_and_its_place_returns() {
    loom::model(|| {
        let shared = Direction::new(2, 2);
        let peer = shared.clone();
        let place = shared.byte_sender().reserve(LINE_BYTES);
        let place = place
            .expect("a correct peer")
            .expect("an empty ring")
            .addr();
        let sender = thread::spawn(move || {
            let mut cells = peer.cell_sender();
            for number in 1..=2 {
                until(|| (peer.line.staged() == number - 1).then_some(()));
                peer.fill(std::ptr::without_provenance(place), LINE_BYTES, number);
                cells.send(&numbered(number));
            }
        });
        let mut cells = shared.cell_receiver();
        for number in 1..=2 {
            assert_eq!(number_of(&until(|| cells.receive())), number);
            let place = std::ptr::without_provenance(place);
            assert!(shared.holds(place, LINE_BYTES, number), "a torn piece");
            shared.line.tell_staged(number);
        }
        sender.join().expect("the sender's thread");
    });
}
