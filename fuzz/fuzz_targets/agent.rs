//! What programs say to the agent, and the agent to programs.
#![no_main]

use bcl_agent_messages::{Answer, Message, Request, read, write};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    again::<Request>(bytes);
    again::<Answer>(bytes);
});

/// What can be read can be written, and says the same.
fn again<M: Message + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    let Ok(message) = read::<M>(bytes) else {
        return;
    };
    // Escapes can make it longer than it was, so that it would not be written.
    if let Ok(text) = write(&message) {
        assert_eq!(read::<M>(&text).expect("it was written by us"), message);
    }
}
