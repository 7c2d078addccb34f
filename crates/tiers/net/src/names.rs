//! The protocol's words for things, and the port's.

use bcl_proto as proto;
use bcl_tier::page::Connection;
use bcl_tier::{Action, MessageId, RmaOp, SystemHandle};
use bcl_types::Device;

/// A message on a normal channel, as the port calls it.
pub fn message_to_port(message: proto::MessageId) -> MessageId {
    MessageId {
        device: Device::Udp,
        slot: message.slot,
        link: 0,
        number: message.number,
    }
}

/// And as the protocol does.
pub fn message_to_proto(message: MessageId) -> proto::MessageId {
    proto::MessageId {
        slot: message.slot,
        number: message.number,
    }
}

/// A system message, as the port calls it; its bytes stay where they are until it is released.
pub fn handle_to_port(message: proto::SystemHandle, immediate: u64, bytes: &[u8]) -> SystemHandle {
    SystemHandle {
        device: Device::Udp,
        slot: message.slot,
        link: 0,
        number: message.number.into(),
        start: bytes.as_ptr(),
        len_bytes: message.len_bytes,
        immediate,
    }
}

/// And as the protocol does; `None` if it has no such names.
pub fn handle_to_proto(message: &SystemHandle) -> Option<proto::SystemHandle> {
    Some(proto::SystemHandle {
        slot: message.slot,
        number: message.number.try_into().ok()?,
        len_bytes: message.len_bytes,
    })
}

/// A one-sided operation without its memory, which is lent by the operation's name.
pub fn rma(op: &RmaOp) -> proto::Rma {
    let action = match op.action {
        Action::Put { len_bytes, .. } => proto::Action::Put {
            len_bytes: len_bytes as u64,
        },
        Action::Get { len_bytes, .. } => proto::Action::Get {
            len_bytes: len_bytes as u64,
        },
        Action::Atomic(atomic) => proto::Action::Atomic(atomic),
    };
    proto::Rma {
        op: op.op,
        window: op.window,
        offset: op.offset,
        action,
    }
}

/// By what the peer's packets come.
pub fn device(info: &proto::PeerInfo) -> Device {
    match info.is_entered {
        true => Device::Xdp,
        false => Device::Udp,
    }
}

/// A connection as `bcl stat` shows it.
pub fn connection(info: &proto::PeerInfo) -> Connection {
    Connection {
        node: info.peer.node.into(),
        port: info.peer.port,
        device: Some(device(info)),
        round_trip_ns: info.round_trip.0,
        congestion_window_packets: info.congestion_window as u64,
        in_flight_packets: info.in_flight.into(),
        packets_out: info.traffic.packets_out,
        packets_in: info.traffic.packets_in,
        retransmits: info.traffic.retransmits,
        datagram_bytes: info.datagram_bytes.into(),
        drop_check: info.drops.check,
        drop_duplicate: info.drops.duplicate,
        drop_beyond: info.drops.beyond_window,
        drop_room: info.drops.no_room,
        drop_unreliable: info.drops.unreliable,
    }
}
