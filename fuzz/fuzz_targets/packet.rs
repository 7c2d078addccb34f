//! A packet on the socket of a connection.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bcl_tier_shm::hostile::packet(bytes));
