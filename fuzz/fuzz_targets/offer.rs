//! The offer of a handshake.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bcl_tier_shm::hostile::offer(bytes));
