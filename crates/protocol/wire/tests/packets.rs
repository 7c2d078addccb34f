//! What is written is read, what is damaged is found, and nothing panics.

use bcl_wire::body::{AckBody, AtomicBody, Setup};
use bcl_wire::{
    Answerer, CheckKey, Flags, Header, JobKeys, Kind, ParseError, Preamble, Transcript, VERSION,
    parse, seal, verify, version_detail, versions_of_detail,
};
use proptest::prelude::*;

fn keys() -> (JobKeys, CheckKey) {
    let job = JobKeys::derive(&[7; 32]);
    let transcript = Transcript {
        initiator: (1, 2),
        responder: (3, 4),
        initiator_incarnation: 5,
        responder_incarnation: 6,
        initiator_nonce: 7,
        token: 8,
    };
    let key = job.connection(&transcript).from_initiator;
    (job, key)
}

/// A sealed packet of DATA with this payload.
fn packet(payload: &[u8]) -> Vec<u8> {
    let (job, key) = keys();
    let header = Header {
        flags: Flags::FIRST | Flags::LAST,
        payload_len_bytes: payload.len() as u16,
        to_connection: 0x1122_3344,
        from_connection: 0x5566_7788,
        from_port: 1024,
        to_port: 7,
        channel: 3,
        sequence: 99,
        ack: 98,
        message: 12,
        length: payload.len() as u64,
        ..Header::new(Kind::Data)
    };
    let mut head = header.to_bytes();
    seal(&mut head, payload, &job, &key);
    [&head[..], payload].concat()
}

#[test]
fn every_flipped_bit_is_found() {
    let (job, key) = keys();
    for len in [0, 1, 7, 8, 9, 100, 1408] {
        let payload: Vec<u8> = (0..len).map(|at| (at * 31 % 251) as u8).collect();
        let mut datagram = packet(&payload);
        assert!(verify(&datagram, &job, &key));
        for bit in 0..datagram.len() * 8 {
            datagram[bit / 8] ^= 1 << (bit % 8);
            assert!(!verify(&datagram, &job, &key), "bit {bit} of {len} bytes");
            datagram[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn other_keys_and_other_connections_are_refused() {
    let (job, key) = keys();
    let datagram = packet(b"hello");
    assert!(!verify(&datagram, &job, job.setup()));
    let other = JobKeys::derive(&[8; 32]);
    assert_ne!(other.id(), job.id());
    assert!(!verify(&datagram, &other, &key));
}

#[test]
fn other_versions_and_strangers_are_told_apart() {
    let mut datagram = packet(b"hello");
    datagram[2] = 9;
    assert_eq!(parse(&datagram), Err(ParseError::Version { theirs: 9 }));
    assert_eq!(
        Preamble::read(&datagram).map(|p| (p.version, p.to_port)),
        Some((9, 7))
    );
    assert_eq!(versions_of_detail(version_detail(9)), (9, VERSION));
    datagram[0] = b'X';
    assert_eq!(Preamble::read(&datagram), None);
    assert_eq!(parse(&datagram), Err(ParseError::Foreign));
    assert_eq!(parse(&datagram[..63]), Err(ParseError::Foreign));
    let datagram = packet(b"hello");
    assert_eq!(parse(&datagram[..68]), Err(ParseError::Length));
}

#[test]
fn a_fragment_that_reaches_beyond_its_message_is_refused() {
    let header = Header {
        payload_len_bytes: 4,
        from_port: 1024,
        to_port: 7,
        channel: 3,
        offset: u64::MAX - 3,
        length: u64::MAX,
        ..Header::new(Kind::Body)
    };
    let datagram = [&header.to_bytes()[..], &[0; 4]].concat();
    assert_eq!(
        parse(&datagram),
        Err(ParseError::Field {
            kind: Kind::Body,
            field: "offset"
        })
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        fields in any::<(u32, u32, u16, u16, u16, u32, u32, u32)>(),
        payload in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let header = Header {
            flags: Flags::LAST,
            payload_len_bytes: payload.len() as u16,
            to_connection: fields.0,
            from_connection: fields.1,
            from_port: fields.2.max(1),
            to_port: fields.3.max(1),
            channel: fields.4.max(1),
            sequence: fields.5,
            ack: fields.6,
            message: fields.7,
            offset: 5,
            length: 1 << 40,
            ..Header::new(Kind::Body)
        };
        let datagram = [&header.to_bytes()[..], &payload].concat();
        prop_assert_eq!(parse(&datagram), Ok((header, &payload[..])));
    }

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), ours in any::<bool>()) {
        let (job, key) = keys();
        let mut bytes = bytes;
        if ours && bytes.len() >= 4 {
            bytes[..3].copy_from_slice(b"BC\x01");
            bytes[3] %= 21;
            let payload_len = bytes.len().saturating_sub(64) as u16;
            if bytes.len() >= 64 {
                bytes[6..8].copy_from_slice(&payload_len.to_le_bytes());
            }
        }
        if let Ok((header, payload)) = parse(&bytes) {
            prop_assert_eq!([&header.to_bytes()[..], payload].concat(), &bytes[..]);
        }
        let _ = verify(&bytes, &job, &key);
        let _ = (Setup::from_bytes(&bytes), AckBody::from_bytes(&bytes));
        let _ = AtomicBody::from_bytes(&bytes);
    }

    #[test]
    fn bodies_are_read_as_written(words in any::<[u64; 8]>(), refusing in any::<Option<u32>>()) {
        let setup = Setup {
            job_id: words[0],
            initiator_incarnation: words[1],
            responder_incarnation: words[2],
            initiator_nonce: words[3],
            token: words[4],
            token_time: words[5],
            initiator_node: words[6] as u32,
            responder_node: words[7] as u32,
            receive_window_packets: words[0] as u16,
            answerer: Answerer::ALL[(words[1] % 3) as usize],
        };
        prop_assert_eq!(Setup::from_bytes(&setup.to_bytes()), Some(setup));
        let ack = AckBody {
            selective: [words[0], words[1], words[2], words[3]],
            refusing_system: refusing,
            refusing_normal: None,
            delay_ns: words[4] as u32,
            away_us: words[5] as u16,
        };
        prop_assert_eq!(AckBody::from_bytes(&ack.to_bytes()), Some(ack));
        for atomic in [
            AtomicBody::FetchAdd(words[0]),
            AtomicBody::CompareSwap { expected: words[1], new: words[2] },
        ] {
            prop_assert_eq!(AtomicBody::from_bytes(&atomic.to_bytes()), Some(atomic));
        }
    }
}
