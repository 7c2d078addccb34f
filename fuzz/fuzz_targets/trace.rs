//! What `bcl trace` reads: a capture file, the frames in it, the packets in those.
#![no_main]

// The command is a program, which nobody can depend on; not all of these files is used here.
#[allow(dead_code)]
#[path = "../../tools/cli/src/trace/frame.rs"]
mod frame;
#[allow(dead_code)]
#[path = "../../tools/cli/src/trace/packets.rs"]
mod packets;
#[allow(dead_code)]
#[path = "../../tools/cli/src/trace/pcap.rs"]
mod pcap;
#[allow(dead_code)]
#[path = "../../tools/cli/src/trace/show.rs"]
mod show;

use std::time::Duration;

use frame::{Datagram, Link};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (mode, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    if mode % 2 == 0 {
        let Ok(mut reader) = pcap::Reader::new(bytes) else {
            return;
        };
        while let Ok(Some(frame)) = reader.next() {
            if let Some(packet) = frame.link.ip(&frame.bytes) {
                look_at(frame.time, packet);
            }
        }
    } else if let Some(link) = Link::from_number(u32::from(mode / 2)) {
        if let Some(packet) = link.ip(bytes) {
            look_at(Duration::ZERO, packet);
        }
    }
});

fn look_at(time: Duration, packet: &[u8]) {
    let Some(datagram) = Datagram::of_ip(packet).filter(packets::is_ours) else {
        return;
    };
    let mut checker = packets::Checker::new(None);
    let mut len = 0;
    for bytes in packets::packets(datagram.payload) {
        len += bytes.len();
        let parsed = bcl_wire::parse(bytes);
        let verdict = match &parsed {
            Ok((header, _)) => checker.verdict(header, bytes),
            Err(_) => packets::Verdict::Unknown,
        };
        let packet = show::Packet {
            time,
            datagram,
            bytes,
            parsed,
            verdict,
        };
        let _ = (packet.line(), packet.json());
    }
    assert_eq!(len, datagram.payload.len());
}
