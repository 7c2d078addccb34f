//! `bcl stat --connections`.

use bcl::{Address, Device, NodeId};
use serde_json::json;

use super::Watched;
use crate::failure::Result;
use crate::output;

/// Each port's connections to other nodes, as the port has described them last.
pub fn show(watched: &Watched, as_json: bool) -> Result<()> {
    if !as_json {
        output::line(format_args!(
            "{:<21} {:<21} {:<6} {:>12} {:>8} {:>9} {:>12} {:>12} {:>11} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10}",
            "port",
            "peer",
            "device",
            "rtt us",
            "window",
            "in flight",
            "packets out",
            "packets in",
            "sent again",
            "datagram",
            "bad check",
            "doubled",
            "too early",
            "no room",
            "unreliable"
        ))?;
    }
    for (address, port) in &watched.ports {
        for connection in port.connections() {
            let node = NodeId(connection.node.into());
            let peer = Address {
                node,
                port: connection.port,
            };
            let device = connection.device.map(Device::name);
            let round_trip_us = connection.round_trip_ns as f64 / 1e3;
            if as_json {
                output::json(&json!({
                    "port": address.to_string(),
                    "peer": peer.to_string(),
                    "device": device,
                    "round_trip_us": round_trip_us,
                    "congestion_window_packets": connection.congestion_window_packets,
                    "in_flight_packets": connection.in_flight_packets,
                    "packets_out": connection.packets_out,
                    "packets_in": connection.packets_in,
                    "retransmits": connection.retransmits,
                    "datagram_bytes": connection.datagram_bytes,
                    "drop_check": connection.drop_check,
                    "drop_duplicate": connection.drop_duplicate,
                    "drop_beyond": connection.drop_beyond,
                    "drop_room": connection.drop_room,
                    "drop_unreliable": connection.drop_unreliable,
                }))?;
                continue;
            }
            output::line(format_args!(
                "{:<21} {:<21} {:<6} {round_trip_us:>12.1} {:>8} {:>9} {:>12} {:>12} {:>11} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10}",
                address.to_string(),
                peer.to_string(),
                device.unwrap_or("?"),
                connection.congestion_window_packets,
                connection.in_flight_packets,
                connection.packets_out,
                connection.packets_in,
                connection.retransmits,
                connection.datagram_bytes,
                connection.drop_check,
                connection.drop_duplicate,
                connection.drop_beyond,
                connection.drop_room,
                connection.drop_unreliable,
            ))?;
        }
    }
    Ok(())
}
