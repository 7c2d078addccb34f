//! The vectors of `spec/vectors`, which another implementation has made.

use std::vec::Vec;
use std::{format, fs, vec};

use serde_json::Value;

use crate::kind::{Flags, Kind};
use crate::nh::{NH_KEY_LEN, NhKey, nh};
use crate::siphash::siphash24;
use crate::{CheckKey, HEADER_LEN, Header, JobKeys, ParseError, Transcript, parse, seal, verify};

fn read(name: &str) -> Value {
    let path = format!(
        "{}/../../../spec/vectors/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn rows(list: &Value) -> &Vec<Value> {
    list.as_array().expect("a list")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn bytes(value: &Value) -> Vec<u8> {
    let digit = |digit: &u8| (*digit as char).to_digit(16).expect("hex") as u8;
    let pair = |pair: &[u8]| digit(&pair[0]) << 4 | digit(&pair[1]);
    text(value).as_bytes().chunks_exact(2).map(pair).collect()
}

fn hash(value: &Value) -> u64 {
    u64::from_str_radix(text(value), 16).expect("a hash in hex")
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |word: &[u8]| u64::from_le_bytes(word.try_into().expect("8 bytes"));
    bytes.chunks_exact(8).map(word).collect()
}

fn check_key(value: &Value) -> [u64; 2] {
    words(&bytes(value)).try_into().expect("16 bytes")
}

#[test]
fn siphash_is_that_of_its_authors() {
    for row in rows(&read("siphash.json")) {
        let input = words(&bytes(&row["input"]));
        let found = siphash24(check_key(&row["key"]), &input);
        assert_eq!(found, hash(&row["hash"]), "{} words", input.len());
    }
}

#[test]
fn nh_is_that_of_umac() {
    for row in rows(&read("nh.json")) {
        let mut key = [0; NH_KEY_LEN];
        let given = bytes(&row["key"]);
        key[..given.len()].copy_from_slice(&given);
        let found = nh(&NhKey::from_bytes(&key), &bytes(&row["input"]));
        assert_eq!(found, hash(&row["hash"]), "{}", row["from"]);
    }
}

/// The keys of `packets.json`: the job's, and how those of its packets are called there.
fn keys(vectors: &Value) -> (JobKeys, Vec<(&'static str, CheckKey)>) {
    let secret = bytes(&vectors["secret"]).try_into().expect("32 bytes");
    let job = JobKeys::derive(&secret);
    let said = |name: &str| number(&vectors["transcript"][name]);
    let end = |node: &str, port: &str| (said(node) as u32, said(port) as u16);
    let connection = job.connection(&Transcript {
        initiator: end("initiator_node", "initiator_port"),
        responder: end("responder_node", "responder_port"),
        initiator_incarnation: said("initiator_incarnation"),
        responder_incarnation: said("responder_incarnation"),
        initiator_nonce: said("initiator_nonce"),
        token: said("token"),
    });
    let named = vec![
        ("setup", *job.setup()),
        ("from_initiator", connection.from_initiator),
        ("from_responder", connection.from_responder),
    ];
    (job, named)
}

#[test]
fn keys_are_derived_as_the_rules_say() {
    let vectors = read("packets.json");
    let (job, named) = keys(&vectors);
    assert_eq!(
        job.id().to_le_bytes().to_vec(),
        bytes(&vectors["keys"]["id"])
    );
    for (name, key) in named {
        assert_eq!(key.0, check_key(&vectors["keys"][name]), "{name}");
    }
}

fn header(fields: &Value, kind: Kind, check: u64) -> Header {
    let field = |name: &str| number(&fields[name]);
    Header {
        kind,
        flags: Flags::from_number(field("flags") as u16).expect("flags"),
        payload_len_bytes: field("payload_len") as u16,
        to_connection: field("to_connection") as u32,
        from_connection: field("from_connection") as u32,
        from_port: field("from_port") as u16,
        to_port: field("to_port") as u16,
        channel: field("channel") as u16,
        rail: field("rail") as u8,
        sequence: field("sequence") as u32,
        ack: field("ack") as u32,
        message: field("message") as u32,
        slot: field("slot") as u16,
        group: field("group") as u16,
        offset: field("offset"),
        length: field("length"),
        check,
    }
}

#[test]
fn packets_are_read_written_and_checked_as_the_rules_say() {
    let vectors = read("packets.json");
    let (job, named) = keys(&vectors);
    let mut kinds: Vec<Kind> = Vec::new();
    for row in rows(&vectors["packets"]) {
        let name = text(&row["name"]);
        let datagram = bytes(&row["datagram"]);
        let (read, payload) = parse(&datagram).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read.kind.name(), text(&row["kind"]), "{name}");
        assert_eq!(
            read,
            header(&row["fields"], read.kind, read.check),
            "{name}"
        );
        let (_, key) = named
            .iter()
            .find(|(called, _)| *called == text(&row["key"]))
            .expect("a key that is listed");
        let mut head = Header { check: 0, ..read }.to_bytes();
        seal(&mut head, payload, &job, key);
        assert_eq!(head[..], datagram[..HEADER_LEN], "{name}");
        for (called, key) in &named {
            let is_its_key = *called == text(&row["key"]);
            assert_eq!(verify(&datagram, &job, key), is_its_key, "{name}, {called}");
        }
        kinds.push(read.kind);
    }
    let missing = Kind::ALL.iter().find(|kind| !kinds.contains(kind));
    assert_eq!(missing, None, "every kind has a vector");
}

#[test]
fn every_flipped_bit_of_every_packet_is_found() {
    let vectors = read("packets.json");
    let (job, named) = keys(&vectors);
    for row in rows(&vectors["packets"]) {
        let mut datagram = bytes(&row["datagram"]);
        // Of the longest payloads every 7th bit will do.
        let step = if datagram.len() > 500 { 7 } else { 1 };
        for bit in (0..datagram.len() * 8).step_by(step) {
            datagram[bit / 8] ^= 1 << (bit % 8);
            let believed = named.iter().find(|(_, key)| verify(&datagram, &job, key));
            assert!(believed.is_none(), "{}, bit {bit}", row["name"]);
            datagram[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn malformed_packets_are_refused_for_what_is_wrong_with_them() {
    for row in rows(&read("malformed.json")) {
        let found = match parse(&bytes(&row["datagram"])) {
            Ok((header, _)) => panic!("{row}: {header:?}"),
            Err(ParseError::Field { kind, field }) => {
                assert_eq!(kind.name(), text(&row["kind"]));
                field
            }
            Err(ParseError::Version { .. }) => "version",
            Err(ParseError::Length) => "length",
            Err(ParseError::Kind(_)) => "kind",
            Err(ParseError::Reserved) => "reserved",
            Err(ParseError::Foreign) => "magic",
        };
        assert_eq!(found, text(&row["broken"]), "{row}");
    }
}
