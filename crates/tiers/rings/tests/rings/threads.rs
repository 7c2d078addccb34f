//! Both ends at once, with the memory order of the machine; under Miri with that of the language.

use std::thread;

use crate::memory::Direction;

const MESSAGES: u64 = if cfg!(miri) { 60 } else { 30_000 };

/// Every message announces a payload of its own length and bytes.
#[test]
fn cells_and_payload_arrive_whole() {
    let shared = &Direction::new(8, 1024);
    let len_of = |number: u64| (number * 37 % 513) as u32;
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut cells, mut bytes) = (shared.cell_sender(), shared.byte_sender());
            for number in 0..MESSAGES {
                while cells.free(1).unwrap() == 0 {
                    thread::yield_now();
                }
                let len = len_of(number);
                let place = loop {
                    match bytes.reserve(len).unwrap() {
                        Some(place) => break place,
                        None => thread::yield_now(),
                    }
                };
                shared.offset_of(place, len);
                // SAFETY: the room is ours until the receiver releases it.
                unsafe { place.write_bytes(number as u8, len as usize) };
                cells.send(&[7 << 32, number, u64::from(len), !number, 0, 0, 0, 0]);
            }
        });
        scope.spawn(move || {
            let (mut cells, mut bytes) = (shared.cell_receiver(), shared.byte_receiver());
            for number in 0..MESSAGES {
                let words = loop {
                    match cells.receive() {
                        Some(words) => break words,
                        None => thread::yield_now(),
                    }
                };
                let len = len_of(number);
                assert_eq!(
                    words,
                    [7 << 32, number, u64::from(len), !number, 0, 0, 0, 0]
                );
                let (place, end) = bytes.take(len).unwrap();
                shared.offset_of(place, len);
                // SAFETY: the payload is all there and stays until it is released.
                let payload = unsafe { std::slice::from_raw_parts(place, len as usize) };
                assert!(payload.iter().all(|byte| *byte == number as u8));
                bytes.release(end);
            }
        });
    });
}
