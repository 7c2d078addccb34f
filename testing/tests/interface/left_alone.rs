//! What the interface program leaves alone, whatever is in it ([MCP-1.1], [MCP-1.2]).

use std::net::{Ipv4Addr, SocketAddrV4};

use bcl_wire::{Flags, Header, JobKeys, Kind, seal};

use crate::frame::{frame, seal as seal_ip};
use crate::kernel::{Fate, HERE, Kernel, PORT, entry, keys, load};

const PEER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 2), 20_009);
const ID: u32 = 5;

/// A packet that is acknowledged at once.
fn wanted(job: &JobKeys, change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut header = Header::new(Kind::Data);
    header.flags = Flags::FIRST | Flags::LAST | Flags::ACK_NOW;
    header.payload_len_bytes = 8;
    header.length = 8;
    header.to_connection = ID;
    header.from_connection = 6;
    header.from_port = 9;
    header.to_port = PORT;
    change(&mut header);
    let mut head = header.to_bytes();
    seal(&mut head, b"8 bytes.", job, &keys(job, ID).from_initiator);
    [&head[..], b"8 bytes."].concat()
}

fn served() -> Option<(JobKeys, Kernel)> {
    let job = JobKeys::derive(&[9; 32]);
    let mut kernel = Kernel::new(load()?, &job, 1 << 16);
    kernel.enter_connection(&entry(&job, ID, 0));
    let fate = kernel.handle(PEER, &wanted(&job, |_| {}));
    assert!(matches!(fate, Fate::Reply(_)), "it is served: {fate:?}");
    Some((job, kernel))
}

#[test]
fn frames_that_are_not_for_it() {
    let Some((job, mut kernel)) = served() else {
        return;
    };
    let good = frame(PEER, HERE, &wanted(&job, |header| header.sequence = 1));
    // What is changed, and whether the checksum of the header is made right afterwards.
    let changes: [(&str, usize, u8, bool); 13] = [
        ("Ethernet type", 12, 0x86, false),
        ("version of IP", 14, 0x65, true),
        ("options", 14, 0x46, true),
        ("length of IP", 17, 1, true),
        ("more fragments", 20, 0x20, true),
        ("a later fragment", 21, 1, true),
        ("TCP", 23, 6, true),
        ("checksum of IP", 24, good[24] ^ 1, false),
        ("source, damaged", 29, good[29] ^ 4, false),
        ("another host's", 33, 9, true),
        ("another UDP port", 37, good[37] ^ 1, false),
        ("length of UDP", 39, good[39] - 1, false),
        ("another protocol", 42, b'b', false),
    ];
    for (what, at, value, is_sealed) in changes {
        let mut changed = good.clone();
        changed[at] = value;
        if is_sealed {
            seal_ip(&mut changed);
        }
        let fate = kernel.handle_frame(&changed, <[u8]>::to_vec);
        assert_eq!(fate, Fate::Pass, "{what}");
    }
    for len in [0, 14, 41, 42, 105] {
        let len = len.max(14); // the kernel shows nothing shorter
        let fate = kernel.handle_frame(&good[..len], <[u8]>::to_vec);
        assert_eq!(fate, Fate::Pass, "the first {len} bytes");
    }
    // What the frame has behind the packet does no harm, and does not come back.
    let mut padded = good.clone();
    padded.extend([7; 30]);
    let fate = kernel.handle_frame(&padded, <[u8]>::to_vec);
    assert!(matches!(fate, Fate::Reply(reply) if reply.len() == 106));
}

#[test]
fn packets_that_are_the_programs() {
    let Some((job, mut kernel)) = served() else {
        return;
    };
    let wanted = |change: fn(&mut Header)| wanted(&job, change);
    let mut other_version = wanted(|header| header.sequence = 1);
    other_version[2] = 2;
    let mut piece = wanted(|header| header.sequence = 1);
    piece[3] = 19;
    let cases = [
        ("another version", other_version),
        ("PIECE", piece),
        ("HELLO", wanted(|header| header.kind = Kind::Hello)),
        ("WELCOME", wanted(|header| header.kind = Kind::Welcome)),
        ("CONFIRM", wanted(|header| header.kind = Kind::Confirm)),
        ("REFUSE", wanted(|header| header.kind = Kind::Refuse)),
        ("GONE", wanted(|header| header.kind = Kind::Gone)),
        (
            "no such connection",
            wanted(|header| header.to_connection = 99),
        ),
        ("another port", wanted(|header| header.to_port = PORT + 1)),
        ("no header", wanted(|_| {})[..63].to_vec()),
    ];
    for (what, datagram) in cases {
        assert_eq!(kernel.handle(PEER, &datagram), Fate::Pass, "{what}");
    }
    let packets = kernel.counters.each().find(|(name, _)| *name == "packets");
    assert_eq!(packets, Some(("packets", 1)), "only the first was counted");
}

#[test]
fn a_port_that_is_removed() {
    let Some((job, mut kernel)) = served() else {
        return;
    };
    let at = bcl_layout::tables::PortKey::new(*HERE.ip(), HERE.port());
    assert!(kernel.mcp.tables.ports.remove(&at).expect("a table"));
    let datagram = wanted(&job, |header| header.sequence = 1);
    assert_eq!(kernel.handle(PEER, &datagram), Fate::Pass);
}
