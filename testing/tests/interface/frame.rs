//! Ethernet, IP and UDP around a datagram.

use std::net::SocketAddrV4;

/// Bytes before the datagram.
pub const FRAME_LEN: usize = 42;

const OURS: [u8; 6] = [2, 0, 0, 0, 0, 1];
const THEIRS: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// The frame in which a datagram comes.
pub fn frame(from: SocketAddrV4, to: SocketAddrV4, datagram: &[u8]) -> Vec<u8> {
    // What a stack fills in and an answer must not repeat: type of service, identification, time to live, checksum of UDP.
    wrapped(
        (THEIRS, OURS),
        (from, to),
        [0x28, 0x12, 0x34, 57, 0x77],
        datagram,
    )
}

/// The frame in which the interface program answers ([MCP-5.5]).
pub fn answer(from: SocketAddrV4, to: SocketAddrV4, datagram: &[u8]) -> Vec<u8> {
    wrapped((OURS, THEIRS), (from, to), [0, 0, 0, 64, 0], datagram)
}

fn wrapped(
    (source, destination): ([u8; 6], [u8; 6]),
    (from, to): (SocketAddrV4, SocketAddrV4),
    [service, id_high, id_low, time_to_live, udp_checksum]: [u8; 5],
    datagram: &[u8],
) -> Vec<u8> {
    let mut frame = Vec::with_capacity(FRAME_LEN + datagram.len());
    frame.extend(destination);
    frame.extend(source);
    frame.extend([8, 0]);
    let udp_len = 8 + datagram.len() as u16;
    frame.extend([0x45, service]);
    frame.extend((20 + udp_len).to_be_bytes());
    frame.extend([id_high, id_low, 0x40, 0, time_to_live, 17, 0, 0]);
    frame.extend(from.ip().octets());
    frame.extend(to.ip().octets());
    seal(&mut frame);
    frame.extend(from.port().to_be_bytes());
    frame.extend(to.port().to_be_bytes());
    frame.extend(udp_len.to_be_bytes());
    frame.extend([udp_checksum; 2]);
    frame.extend(datagram);
    frame
}

/// Makes the checksum of the IP header right.
pub fn seal(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let sum: u32 = frame[14..34]
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    frame[24..26].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}
