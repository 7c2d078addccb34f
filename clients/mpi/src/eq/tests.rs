use std::ptr;

use super::queue::{Event, Failed, NoEvent, Queue};
use crate::abi::{FI_EINVAL, FI_EOVERRUN};

fn event(number: u32) -> Event {
    Event {
        kind: number,
        bytes: vec![number as u8; number as usize],
    }
}

fn failed() -> Failed {
    Failed {
        fid: ptr::null_mut(),
        context: ptr::null_mut(),
        data: 7,
        err: FI_EINVAL,
        text: "no".into(),
    }
}

#[test]
fn events_come_in_order_with_errors_among_them() {
    let mut queue = Queue::new(8);
    queue.push(event(1));
    queue.push_failed(failed());
    queue.push(event(2));
    assert_eq!(queue.take_failed(), None, "an event is first");
    assert_eq!(queue.read(64, true), Ok(event(1)), "a look leaves it there");
    assert_eq!(queue.read(64, false), Ok(event(1)));
    assert_eq!(queue.read(64, false), Err(NoEvent::Failed));
    assert_eq!(queue.take_failed(), Some(failed()));
    assert_eq!(queue.read(1, false), Err(NoEvent::TooLong));
    assert_eq!(
        queue.read(2, false),
        Ok(event(2)),
        "what was too long is still there"
    );
    assert_eq!(queue.read(64, false), Err(NoEvent::Empty));
    assert!(queue.is_empty());
}

#[test]
fn a_full_queue_says_that_it_was() {
    let mut queue = Queue::new(2);
    for number in 0..5 {
        assert_eq!(queue.is_full(), number >= 2);
        queue.push(event(number));
    }
    assert_eq!(
        (queue.read(64, false), queue.read(64, false)),
        (Ok(event(0)), Ok(event(1)))
    );
    let overrun = queue.take_failed().unwrap();
    assert_eq!(overrun.err, FI_EOVERRUN);
    assert!(overrun.text.contains("larger size") && queue.is_empty());
    queue.push(event(6));
    assert_eq!(queue.read(64, false), Ok(event(6)));
}
