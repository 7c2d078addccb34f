//! The ring of cells: each arrives once, in order, whole; a full ring holds the sender up.

use loom::thread;

use crate::memory::{Direction, number_of, numbered, until};

/// Through a ring of `cells`, `count` of them: more than fit, so that places are used again.
fn all_arrive_in_order(cells: usize, count: u64) {
    loom::model(move || {
        let shared = Direction::new(cells, 0);
        let peer = shared.clone();
        let sender = thread::spawn(move || {
            let mut sender = peer.cell_sender();
            for number in 1..=count {
                until(|| (sender.free(1).expect("a correct peer") > 0).then_some(()));
                sender.send(&numbered(number));
            }
        });
        let mut receiver = shared.cell_receiver();
        for number in 1..=count {
            assert_eq!(number_of(&until(|| receiver.receive())), number);
        }
        assert!(receiver.receive().is_none(), "a cell arrived twice");
        sender.join().expect("the sender's thread");
    });
}

#[test]
fn cells_arrive_once_in_order_and_whole() {
    all_arrive_in_order(2, 3);
}

#[test]
fn a_ring_of_one_cell_is_used_again_and_again() {
    all_arrive_in_order(1, 3);
}

#[test]
fn a_batch_goes_back_at_once() {
    loom::model(|| {
        let shared = Direction::new(2, 0);
        let peer = shared.clone();
        let sender = thread::spawn(move || {
            let mut sender = peer.cell_sender();
            for number in 1..=4 {
                until(|| (sender.free(1).expect("a correct peer") > 0).then_some(()));
                sender.send(&numbered(number));
            }
        });
        let mut receiver = shared.cell_receiver();
        for number in [1, 3] {
            assert_eq!(number_of(&until(|| receiver.take())), number);
            assert_eq!(number_of(&until(|| receiver.take())), number + 1);
            receiver.give_back();
        }
        sender.join().expect("the sender's thread");
    });
}

#[test]
fn a_ready_cell_can_be_received() {
    loom::model(|| {
        let shared = Direction::new(2, 0);
        let peer = shared.clone();
        let sender = thread::spawn(move || peer.cell_sender().send(&numbered(1)));
        let mut receiver = shared.cell_receiver();
        if receiver.is_ready() {
            assert_eq!(receiver.receive().as_ref().map(number_of), Some(1));
        }
        sender.join().expect("the sender's thread");
        assert!(receiver.is_ready() || receiver.receive().is_none());
    });
}

#[test]
fn a_full_ring_takes_no_more_until_room_returns() {
    loom::model(|| {
        let shared = Direction::new(2, 0);
        let peer = shared.clone();
        let mut sender = shared.cell_sender();
        sender.send(&numbered(1));
        sender.send(&numbered(2));
        let reader = thread::spawn(move || {
            let mut receiver = peer.cell_receiver();
            number_of(&until(|| receiver.receive()))
        });
        // Whatever is free by now is free because it was read: to write there is no race.
        let free = sender.free(1).expect("a correct peer");
        assert!(free <= 1);
        if free == 1 {
            sender.send(&numbered(3));
        }
        assert_eq!(reader.join().expect("the reader's thread"), 1);
    });
}
