//! A cell.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bcl_tier_shm::hostile::cell(bytes));
