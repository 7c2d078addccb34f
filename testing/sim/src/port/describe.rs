//! A packet in words.

use bcl_wire::{Flags, Header, Kind, body, parse};

const FLAGS: &[(Flags, &str)] = &[
    (Flags::FIRST, "first"),
    (Flags::LAST, "last"),
    (Flags::UNRELIABLE, "unreliable"),
    (Flags::NOTIFY, "notify"),
    (Flags::RETRANSMIT, "again"),
    (Flags::ACK_NOW, "ack-now"),
];

pub(super) fn describe(datagram: &[u8]) -> String {
    let (header, payload) = match parse(datagram) {
        Ok(parsed) => parsed,
        Err(error) => return format!("{} B, {error}", datagram.len()),
    };
    let mut text = format!(
        "{:?} {:x}>{:x}",
        header.kind, header.from_connection, header.to_connection
    );
    if header.kind.is_sequenced() {
        text += &format!(" seq {}", header.sequence);
    }
    text += &format!(" ack {}", header.ack);
    text += &details(&header, payload);
    for (flag, name) in FLAGS {
        if header.flags.contains(*flag) {
            text += " ";
            text += name;
        }
    }
    text
}

/// What matters for this kind of packet.
fn details(header: &Header, payload: &[u8]) -> String {
    let Header {
        channel,
        message,
        slot,
        offset,
        length,
        ..
    } = *header;
    let len = payload.len();
    match header.kind {
        Kind::Data | Kind::Body | Kind::Rts | Kind::Cts => {
            format!(" ch {channel} msg {message} {offset}+{len}/{length}")
        }
        Kind::Fin | Kind::Nak => {
            format!(" ch {channel} msg {message} detail {offset} reason {length}")
        }
        Kind::Put | Kind::Get | Kind::Atomic | Kind::Answer => {
            format!(" op {message} slot {slot} {offset}+{len}/{length}")
        }
        Kind::Ack => body::AckBody::from_bytes(payload).map_or_else(String::new, |ack| {
            let words = ack.selective.map(|word| format!("{word:x}")).join(",");
            let refusing = [ack.refusing_system, ack.refusing_normal];
            format!(" sack {words} refusing {refusing:?}")
        }),
        Kind::Probe | Kind::ProbeAnswer => format!(" probe {message} len {len}"),
        Kind::Piece => format!(" of seq {message} {offset}+{len}/{length}"),
        Kind::Refuse | Kind::Gone => format!(" reason {length} detail {offset}"),
        _ => String::new(),
    }
}

#[test]
fn packets_are_told_apart() {
    let header = Header {
        sequence: 7,
        to_connection: 1,
        from_connection: 2,
        from_port: 7,
        to_port: 7,
        flags: Flags::FIRST | Flags::LAST,
        ..Header::new(Kind::Data)
    };
    let text = describe(&header.to_bytes());
    for part in ["Data 2>1", "seq 7", "first last"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(describe(&[1, 2, 3]).contains("3 B"));
}
