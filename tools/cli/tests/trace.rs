//! Packets of the test vectors, seen by `bcl trace` and by tshark with our dissector.

mod common;

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::Node;
use serde_json::Value;

/// Fields of a header as the vectors, `bcl trace --json` and the dissector call them.
const FIELDS: [&str; 14] = [
    "payload_len",
    "to_connection",
    "from_connection",
    "from_port",
    "to_port",
    "channel",
    "rail",
    "sequence",
    "ack",
    "message",
    "slot",
    "offset",
    "length",
    "flags",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn vectors() -> Value {
    let text = std::fs::read_to_string(repository().join("spec/vectors/packets.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn rows(vectors: &Value) -> &Vec<Value> {
    vectors["packets"].as_array().unwrap()
}

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    let pairs = (0..hex.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

/// A pcap file of raw IPv4 packets, each with one of these datagrams.
fn pcap(datagrams: &[Vec<u8>]) -> Vec<u8> {
    let mut file: Vec<u8> = [0xa1b2_c3d4u32, 2 | 4 << 16, 0, 0, 65_535, 101]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    for (second, datagram) in (1u32..).zip(datagrams) {
        let udp_len = 8 + datagram.len() as u16;
        let mut packet = vec![0x45, 0];
        packet.extend((20 + udp_len).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        for half in [21_024, 20_007, udp_len, 0] {
            packet.extend(half.to_be_bytes());
        }
        packet.extend(datagram);
        let len = packet.len() as u32;
        for word in [second, 250_000, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

fn capture_of_all(node: &Node, vectors: &Value) -> String {
    let datagrams: Vec<Vec<u8>> = rows(vectors)
        .iter()
        .map(|row| bytes(&row["datagram"]))
        .collect();
    let path = node.folder().join("vectors.pcap");
    std::fs::write(&path, pcap(&datagrams)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What `bcl trace` prints as JSON, with the key of the vectors or without.
fn trace(node: &Node, vectors: &Value, has_key: bool, arguments: &[&str]) -> Vec<Value> {
    let mut command = node.bcl(&[&["trace", "--json"], arguments].concat());
    if has_key {
        command.env("BCL_JOB_KEY", vectors["job_key"].as_str().unwrap());
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_kind_is_decoded_and_its_check_compared() {
    let (node, vectors) = (Node::new(), vectors());
    let path = capture_of_all(&node, &vectors);
    let found = trace(&node, &vectors, true, &["--file", &path]);
    assert_eq!(found.len(), rows(&vectors).len());
    for (found, row) in found.iter().zip(rows(&vectors)) {
        let name = &row["name"];
        assert_eq!(found["kind"], row["kind"], "{name}");
        for field in FIELDS.iter().filter(|field| **field != "flags") {
            assert_eq!(found[field], row["fields"][field], "{name}: {field}");
        }
        // The vectors begin with the set-up of their connection.
        assert_eq!(found["check"], "ok", "{name}");
        assert_eq!(found["from"], "10.0.0.1:21024");
    }
}

#[test]
fn lines_say_what_people_look_for() {
    let (node, vectors) = (Node::new(), vectors());
    let path = capture_of_all(&node, &vectors);
    let text = node.succeed(&["trace", "--file", &path]);
    for expected in [
        "00:00:01.250000 10.0.0.1:21024 > 10.0.0.2:20007 HELLO port 1024 > 7 connection",
        "DATA port 1024 > 7 seq 4 ack 5 ch 3 msg 2 bytes 1400+5 of 1405 LAST len 5 check unknown",
        "FIN port 7 > 1024 seq 9 ack 9 msg 6 truncated (4096)",
        "ANSWER port 7 > 1024 ack 15 window 2 op 7 slot 63 no window",
        "ACK port 7 > 1024 ack 16 beyond 3 held 1500 ns refusing system from msg 12 len 48",
        "REFUSE port 7 > 1024 version 2, 1 is spoken",
    ] {
        assert!(text.contains(expected), "no '{expected}' in\n{text}");
    }
}

#[test]
fn what_is_damaged_cut_or_run_together_is_told_apart() {
    let (node, vectors) = (Node::new(), vectors());
    let path = node.folder().join("odd.pcap");
    let of_kind = |kind: &str| {
        let row = rows(&vectors).iter().find(|row| row["kind"] == kind);
        bytes(&row.unwrap()["datagram"])
    };
    let mut damaged = of_kind("HELLO");
    damaged[90] ^= 1;
    let mut foreign = of_kind("HELLO");
    foreign[64] ^= 1;
    let run = [of_kind("HELLO"), of_kind("WELCOME")].concat();
    let mut file = pcap(&[damaged, b"BC".to_vec(), run, foreign, of_kind("CONFIRM")]);
    // The last frame is as long as it says, but was longer on the wire.
    let len = of_kind("CONFIRM").len();
    let header_at = file.len() - len - 28 - 16;
    let captured = (len as u32 + 28 - 9).to_le_bytes();
    file[header_at + 8..header_at + 12].copy_from_slice(&captured);
    file.truncate(file.len() - 9);
    std::fs::write(&path, file).unwrap();
    let found = trace(&node, &vectors, true, &["--file", path.to_str().unwrap()]);
    assert_eq!(found[0]["check"], "WRONG");
    assert!(found[1]["error"].as_str().unwrap().starts_with("malformed"));
    assert_eq!(
        (&found[2]["kind"], &found[3]["kind"]),
        (&"HELLO".into(), &"WELCOME".into())
    );
    assert_eq!(found[4]["check"], "other job");
    let error = found[5]["error"].as_str().unwrap();
    assert!(error.starts_with("incomplete"), "{error}");
    assert_eq!(found.len(), 6);
}

#[test]
fn a_copy_holds_what_was_shown() {
    let (node, vectors) = (Node::new(), vectors());
    let path = capture_of_all(&node, &vectors);
    let copy = node.folder().join("copy.pcap");
    let copy = copy.to_str().unwrap();
    let shown = trace(
        &node,
        &vectors,
        false,
        &["--file", &path, "--write", copy, "--count", "4"],
    );
    assert_eq!(shown.len(), 4);
    assert!(shown.iter().all(|packet| packet["check"] == "unknown"));
    assert_eq!(trace(&node, &vectors, false, &["--file", copy]), shown);
}

#[test]
fn files_that_are_no_captures_are_refused_by_name() {
    let node = Node::new();
    let path = node.folder().join("text");
    std::fs::write(&path, "no capture").unwrap();
    let output = node.run(&["trace", "--file", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("text: it is no pcap or pcapng file"),
        "{text}"
    );
}

/// Root sees the packets of the loopback interface, each once; anybody else is told what is missing.
#[test]
fn an_interface_is_watched_by_those_who_may() {
    let (node, vectors) = (Node::new(), vectors());
    let mut command = node.bcl(&["trace", "lo", "--json", "--count", "2"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let hello = bytes(&rows(&vectors)[0]["datagram"]);
    // One of the ports of the range that nobody has.
    let socket = (27_000..28_000)
        .find_map(|port| UdpSocket::bind(("127.0.0.1", port)).ok())
        .unwrap();
    let address = socket.local_addr().unwrap();
    while child.try_wait().unwrap().is_none() {
        socket.send_to(&hello, address).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    // SAFETY: geteuid cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        let text = String::from_utf8(output.stdout).unwrap();
        let ours = text
            .lines()
            .filter(|line| line.contains(&address.to_string()));
        for line in ours {
            let packet: Value = serde_json::from_str(line).unwrap();
            assert_eq!(packet["kind"], "HELLO");
        }
        assert_eq!(text.lines().count(), 2, "{text}");
    } else {
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("CAP_NET_RAW"), "{text}");
    }
}

/// Everything that two processes say to each other, from HELLO to CLOSE, has the right check for whoever has the
/// job's key: the keys of a connection follow from its set-up as [WIRE-3.4] says. Needs root to listen.
#[test]
fn a_transfer_is_followed_from_its_set_up() {
    // SAFETY: geteuid cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return an_interface_is_watched_by_those_who_may();
    }
    let node = Node::new();
    let bcl = |arguments: &[&str]| {
        let mut command = node.bcl(arguments);
        command.env("BCL_JOB_KEY", "ab".repeat(32));
        command
            .env("BCL_DEVICE", "udp")
            .env("BCL_NODE", "127.0.0.1");
        command
    };
    let path = |name: &str| node.folder().join(name).to_str().unwrap().to_owned();
    let (source, target, copy) = (path("source"), path("target"), path("copy"));
    std::fs::write(&source, vec![7; 300_000]).unwrap();
    let mut tracer = bcl(&["trace", "lo", "--write", &copy]);
    let tracer = tracer.stdout(Stdio::null()).spawn().unwrap();
    common::eventually("it listens", || Path::new(&copy).exists());
    let mut receiver = bcl(&["recv", &target]).spawn().unwrap();
    let address = common::await_line(&mut receiver);
    let output = common::finish(bcl(&["send", &address, &source]).spawn().unwrap());
    assert!(output.status.success(), "{}", common::text(&output));
    assert!(common::finish(receiver).status.success());

    // Other tests may use the interface at the same time.
    let port: u64 = address.rsplit(':').next().unwrap().parse().unwrap();
    let ours = || {
        let output = bcl(&["trace", "--json", "--file", &copy]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let packets = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let ours = packets
            .filter(|packet: &Value| packet["from_port"] == port || packet["to_port"] == port);
        ours.collect::<Vec<_>>()
    };
    common::eventually("the last packet is seen", || {
        ours().iter().any(|packet| packet["kind"] == "CLOSE")
    });
    common::signal(tracer.id(), libc::SIGTERM);
    common::finish(tracer);
    let packets = ours();
    let wrong = packets.iter().find(|packet| packet["check"] != "ok");
    assert_eq!(wrong, None);
    let kinds: Vec<&str> = packets
        .iter()
        .filter_map(|packet| packet["kind"].as_str())
        .collect();
    assert_eq!(kinds[0], "HELLO");
    for kind in ["WELCOME", "CONFIRM", "RTS", "CTS", "BODY", "FIN", "ACK"] {
        assert!(kinds.contains(&kind), "no {kind}: {kinds:?}");
    }
}

/// `scripts/bootstrap.sh test` installs it.
fn tshark(arguments: &[&str]) -> String {
    let output = Command::new("tshark")
        .args(arguments)
        .output()
        .expect("tshark runs: `scripts/bootstrap.sh test` installs it");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_wireshark_writes_is_read() {
    let (node, vectors) = (Node::new(), vectors());
    let path = capture_of_all(&node, &vectors);
    let expected = trace(&node, &vectors, false, &["--file", &path]);
    for format in ["pcapng", "nsecpcap"] {
        let copy = format!("{path}.{format}");
        tshark(&["-r", &path, "-F", format, "-w", &copy]);
        assert_eq!(trace(&node, &vectors, false, &["--file", &copy]), expected);
    }
}

#[test]
fn the_dissector_shows_the_same_fields() {
    let (node, vectors) = (Node::new(), vectors());
    let path = capture_of_all(&node, &vectors);
    let script = repository().join("tools/wireshark/bcl.lua");
    let script = format!("-Xlua_script:{}", script.display());
    let fields = FIELDS.map(|field| format!("-ebcl.{field}"));
    let mut arguments = vec![&script[..], "-r", &path, "-Y", "bcl", "-T", "fields"];
    arguments.extend(["-E", "separator=;", "-e", "bcl.kind", "-e", "_ws.col.Info"]);
    arguments.extend(["-e", "bcl.malformed"]);
    arguments.extend(fields.iter().map(String::as_str));
    let text = tshark(&arguments);
    assert_eq!(text.lines().count(), rows(&vectors).len(), "{text}");
    for (line, row) in text.lines().zip(rows(&vectors)) {
        let found: Vec<&str> = line.split(';').collect();
        let name = &row["name"];
        assert_eq!(number(found[0]), row["fields"]["kind"], "{name}");
        assert!(
            found[1].starts_with(row["kind"].as_str().unwrap()),
            "{line}"
        );
        assert_eq!(found[2], "", "{name} is malformed");
        for (found, field) in found[3..].iter().zip(FIELDS) {
            assert_eq!(number(found), row["fields"][field], "{name}: {field}");
        }
    }
}

fn number(text: &str) -> u64 {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("'{text}' is no number"))
}
