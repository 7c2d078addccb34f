//! One end of a pair whose segment the peer fills.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bcl_tier_shm::hostile::pair(bytes));
