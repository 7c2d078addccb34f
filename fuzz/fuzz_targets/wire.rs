//! A datagram from anybody: what is read is what stands there.
#![no_main]

use std::sync::LazyLock;

use bcl_wire::body::{AckBody, AtomicBody, Setup};
use bcl_wire::{HEADER_LEN, JobKeys, Preamble, parse, verify};

static JOB: LazyLock<JobKeys> = LazyLock::new(|| JobKeys::derive(&[7; 32]));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Most inputs would end at the first rule: half of them keep those about the datagram as a whole.
    let (mode, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let mut datagram = bytes.to_vec();
    if mode % 2 == 1 && datagram.len() >= HEADER_LEN {
        let payload_len = (datagram.len() - HEADER_LEN) as u16;
        datagram[..3].copy_from_slice(b"BC\x01");
        datagram[6..8].copy_from_slice(&payload_len.to_le_bytes());
    }
    // It may be true: a fuzzer that watches comparisons reads the right check there.
    let _ = verify(&datagram, &JOB, JOB.setup());
    if let Ok((header, payload)) = parse(&datagram) {
        assert_eq!([&header.to_bytes()[..], payload].concat(), datagram);
        assert!(
            Preamble::read(&datagram).is_some_and(|preamble| preamble.to_port == header.to_port)
        );
    }
    if let Some(setup) = Setup::from_bytes(&datagram) {
        assert_eq!(setup.to_bytes()[..], datagram);
    }
    if let Some(ack) = AckBody::from_bytes(&datagram) {
        assert_eq!(AckBody::from_bytes(&ack.to_bytes()), Some(ack));
    }
    if let Some(atomic) = AtomicBody::from_bytes(&datagram) {
        assert_eq!(atomic.to_bytes()[..], datagram);
    }
});
