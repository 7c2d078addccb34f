//! The count of handled messages and the cells that put one off: whoever reads the count finds the
//! cells that were sent before it.

use loom::thread;

use crate::memory::{Direction, number_of, numbered};

/// The receiver of messages 0, 1 and 2 completes 0 and 2 and puts 1 off; their sender must never take
/// 1 for completed.
#[test]
fn a_message_put_off_is_never_taken_for_completed() {
    loom::model(|| {
        let back = Direction::new(2, 0);
        let line = Direction::new(1, 0);
        let (peer_back, peer_line) = (back.clone(), line.clone());
        let receiver = thread::spawn(move || {
            peer_line.line.tell_handled(1);
            peer_back.cell_sender().send(&numbered(1));
            peer_line.line.tell_handled(2);
            peer_line.line.tell_handled(3);
        });
        let mut cells = back.cell_receiver();
        let mut put_off = Vec::new();
        for _ in 0..2 {
            let handled = line.line.handled();
            while let Some(words) = cells.receive() {
                put_off.push(number_of(&words));
            }
            let completed = (0..handled).filter(|number| !put_off.contains(number));
            assert!(completed.into_iter().all(|number| number != 1));
        }
        receiver.join().expect("the receiver's thread");
    });
}
