//! What a process says to its launcher, in two pieces: blobs, requests and what they ask for.
#![no_main]

#[path = "../../crates/job/launch/src/talk.rs"]
mod talk;

use bcl::job::{Spawn, request};
use talk::{Said, Talk};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((at, bytes)) = input.split_first() else {
        return;
    };
    let (first, second) = bytes.split_at(bytes.len().min((*at).into()));
    let mut talk = Talk::default();
    for piece in [first, second] {
        talk.push(piece);
        while let Ok(Some(said)) = talk.next() {
            if let Said::Request { kind, payload } = said {
                let spawn = Spawn::from_bytes(&payload).filter(|_| kind == request::SPAWN);
                let _ = spawn.map(|spawn| spawn.mistake());
            }
        }
    }
});
