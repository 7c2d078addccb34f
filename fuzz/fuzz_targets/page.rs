//! A port page that its owner fills.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bcl_tier_shm::hostile::page(bytes));
