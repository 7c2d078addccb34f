//! UDP datagrams as an attacker on the same network sees them, and makes them.

use std::fs;
use std::net::Ipv4Addr;

use bcl_testing::netns::Tap;

/// What the kernel says about a frame, Ethernet, IPv4 without options, and UDP.
const ABOUT: usize = 10;
const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: usize = 8;
const HEADERS: usize = ABOUT + ETHERNET + IP + UDP;
const FRAME_MAX: usize = 66_000;

/// Datagrams that one port sent to another.
#[derive(Default)]
pub struct Captured {
    /// All headers of one of them.
    headers: Vec<u8>,
    /// What they said.
    pub payloads: Vec<Vec<u8>>,
}

impl Captured {
    /// Adds what has arrived at a tap for that UDP port meanwhile.
    pub fn take(&mut self, tap: &Tap, to_udp_port: u16) {
        let mut buffer = vec![0; FRAME_MAX];
        while let Some(len) = tap.receive(&mut buffer) {
            let frame = &buffer[..len];
            if len <= HEADERS || !is_udp_to(frame, to_udp_port) {
                continue;
            }
            self.headers = frame[..HEADERS].to_vec();
            // The kernel may hand over many at once.
            let segment = usize::from(u16::from_le_bytes([frame[4], frame[5]]));
            let segment = if segment == 0 { len } else { segment };
            let payloads = frame[HEADERS..].chunks(segment);
            self.payloads.extend(payloads.map(<[u8]>::to_vec));
        }
    }

    /// A frame with another payload, from the same port to the same port.
    pub fn frame(&self, payload: &[u8]) -> Vec<u8> {
        let mut frame = self.headers.clone();
        // Nothing is left to the kernel: it shall not fill in a checksum, or cut.
        frame[..ABOUT].fill(0);
        let ip = &mut frame[ABOUT + ETHERNET..][..IP];
        ip[2..4].copy_from_slice(&((IP + UDP + payload.len()) as u16).to_be_bytes());
        ip[10..12].fill(0);
        let checksum = checksum(ip);
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        let udp = &mut frame[ABOUT + ETHERNET + IP..];
        udp[4..6].copy_from_slice(&((UDP + payload.len()) as u16).to_be_bytes());
        // 0 says that there is none.
        udp[6..8].fill(0);
        frame.extend_from_slice(payload);
        frame
    }

    /// Whose packets they claim to be.
    pub fn sender(&self) -> Ipv4Addr {
        let at = ABOUT + ETHERNET + 12;
        let bytes: [u8; 4] = self.headers[at..at + 4].try_into().expect("4 are 4");
        bytes.into()
    }
}

fn is_udp_to(frame: &[u8], port: u16) -> bool {
    let ip = ABOUT + ETHERNET;
    frame[ABOUT + 12..ip] == [8, 0]
        && frame[ip] == 0x45
        && frame[ip + 9] == 17
        && frame[ip + IP + 2..ip + IP + 4] == port.to_be_bytes()
}

fn checksum(header: &[u8]) -> u16 {
    let words = header
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// What waits in the UDP sockets that a process sees, and what they had to drop: bytes and packets.
pub fn queued(pid: i32) -> (u64, u64) {
    let table = fs::read_to_string(format!("/proc/{pid}/net/udp")).expect("it lives");
    let (mut waiting, mut dropped) = (0, 0);
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (_, received) = columns[4].split_once(':').expect("two queues");
        waiting += u64::from_str_radix(received, 16).expect("it is a number");
        dropped += columns[columns.len() - 1].parse::<u64>().expect("a number");
    }
    (waiting, dropped)
}
