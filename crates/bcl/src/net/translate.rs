//! The protocol's words for things, and the port's.

use bcl_device::{Action, Atomic, Cause, LinkInfo, OpError, RmaOp};
use bcl_node::{Address, NodeId};
use bcl_proto as proto;
use bcl_shm::page::Connection;

pub fn address(of: proto::Address) -> Address {
    Address {
        node: NodeId(of.node),
        port: of.port,
    }
}

pub fn to_proto(address: Address) -> proto::Address {
    proto::Address {
        node: address.node.0,
        port: address.port,
    }
}

pub fn cause(of: proto::Cause) -> Cause {
    match of {
        proto::Cause::Closed => Cause::Closed,
        proto::Cause::Silent(span) => Cause::Silent((span.0 / 1_000_000) as u32),
        proto::Cause::Restarted => Cause::Restarted,
        proto::Cause::Protocol => Cause::Vanished,
    }
}

pub fn result(of: Result<(), proto::OpError>) -> Result<(), OpError> {
    of.map_err(error)
}

fn error(of: proto::OpError) -> OpError {
    use proto::OpError as E;
    match of {
        E::Truncated {
            len_bytes,
            capacity_bytes,
        } => OpError::Truncated {
            len_bytes,
            capacity_bytes,
        },
        E::NoPort => OpError::NoPort,
        E::KeyMismatch => OpError::KeyMismatch,
        E::VersionMismatch { ours, theirs } => OpError::VersionMismatch {
            ours: ours.into(),
            theirs: theirs.into(),
        },
        E::Unreachable => OpError::Unreachable,
        E::PeerGone(why) => OpError::PeerGone(cause(why)),
        E::RmaDenied => OpError::RmaDenied,
        E::RmaRange => OpError::RmaRange,
        E::NoWindow => OpError::NoWindow,
        E::Canceled => OpError::Canceled,
        E::Fault => OpError::Fault,
        E::Protocol => OpError::Protocol,
    }
}

/// Why an access of a peer to one of our windows is refused.
pub fn refusal(of: OpError) -> proto::Refusal {
    match of {
        OpError::RmaRange => proto::Refusal::Range,
        OpError::NoWindow => proto::Refusal::NoWindow,
        _ => proto::Refusal::Denied,
    }
}

pub fn rma(op: &RmaOp) -> proto::Rma {
    let action = match op.action {
        Action::Put { len_bytes, .. } => proto::Action::Put {
            len_bytes: len_bytes as u64,
        },
        Action::Get { len_bytes, .. } => proto::Action::Get {
            len_bytes: len_bytes as u64,
        },
        Action::Atomic(Atomic::FetchAdd(value)) => {
            proto::Action::Atomic(proto::Atomic::FetchAdd(value))
        }
        Action::Atomic(Atomic::CompareSwap { expected, new }) => {
            proto::Action::Atomic(proto::Atomic::CompareSwap { expected, new })
        }
    };
    proto::Rma {
        op: op.op,
        window: op.window,
        offset: op.offset,
        action,
    }
}

pub fn atomic(of: proto::Atomic) -> Atomic {
    match of {
        proto::Atomic::FetchAdd(value) => Atomic::FetchAdd(value),
        proto::Atomic::CompareSwap { expected, new } => Atomic::CompareSwap { expected, new },
    }
}

/// A connection as `bcl stat` shows it.
pub fn connection(info: &proto::PeerInfo) -> Connection {
    Connection {
        node: info.peer.node.into(),
        port: info.peer.port,
        round_trip_ns: info.round_trip.0,
        window_packets: info.window as u64,
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

/// A connection as people see it.
pub fn link(info: &proto::PeerInfo) -> LinkInfo {
    LinkInfo {
        tier: "udp",
        copy: format!(
            "datagrams of up to {} bytes to {}, because it is on another node",
            info.datagram_bytes, info.path.to
        ),
    }
}
