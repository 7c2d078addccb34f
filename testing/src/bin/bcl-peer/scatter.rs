//! Unreliable messages: numbered ones are scattered, and whoever gathers them knows which have come, and how.

use std::collections::BTreeSet;

use bcl::{Address, Event, Port, Which};
use bcl_testing::PATIENCE;
use bcl_testing::contents;
use bcl_types::Random;

/// Bytes in front of a message that give its number.
const NUMBER: usize = 8;
/// The message after which nothing is expected.
const LAST: &[u8] = b"that was all";

/// Sends so many messages of random length, and then one that is sure to arrive.
pub fn scatter(port: &mut Port, to: Address, count: u64) -> Result<(), bcl::Error> {
    for number in 0..count {
        let longest = port.unreliable_max(to)?;
        let len = Random::new(number).below((longest - NUMBER) as u64 + 1) as usize;
        port.send_unreliable(to, &content(number, len))?;
        // Not faster than packets can leave: the port itself would drop them.
        for _ in 0..4 {
            port.poll(Which::Send)?;
            std::thread::yield_now();
        }
    }
    port.send_system(to, LAST, count)
}

/// Takes messages until the last, and says how many came. All others were scattered, and no two are the same.
pub fn gather(port: &mut Port) -> String {
    let mut seen = BTreeSet::new();
    loop {
        let event = port
            .wait(Which::Recv, Some(PATIENCE))
            .expect("the port is open");
        let Some(event) = event else {
            return format!("stuck after {}", seen.len());
        };
        let Event::Message(message) = event else {
            continue;
        };
        let bytes = port.data(&message).to_vec();
        port.release(message).expect("a message can be released");
        if bytes == LAST {
            return seen.len().to_string();
        }
        let Some(number) = number_of(&bytes) else {
            return format!("{} bytes that nobody sent", bytes.len());
        };
        if !seen.insert(number) {
            return format!("message {number} twice");
        }
    }
}

fn content(number: u64, len: usize) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend(contents::bytes(number, len));
    bytes
}

fn number_of(bytes: &[u8]) -> Option<u64> {
    let number = u64::from_le_bytes(*bytes.first_chunk::<NUMBER>()?);
    (bytes == content(number, bytes.len() - NUMBER)).then_some(number)
}
