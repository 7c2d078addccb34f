//! A whole connection whose peer writes cells, or anything anywhere.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bcl_tier_shm::hostile::connection(bytes));
