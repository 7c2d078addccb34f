//! What goes back to the peer ([MCP-5]).

use bcl_wire::body::AckBody;
use bcl_wire::{HEADER_LEN, Header, Kind, NakReason, RmaStatus, seal};

use crate::connection::Connection;
use crate::{ModelPort, Packet};

/// What is to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    None,
    /// To a one-sided operation.
    Answer {
        status: RmaStatus,
        value: u64,
    },
    ProbeAnswer,
    /// A message is refused.
    Refusal,
    /// What was taken; and that this packet was not, for want of room.
    Ack {
        dropped: Option<u32>,
    },
}

impl ModelPort {
    /// Writes the answer. `None` if there is none, else whether it acknowledges all that was taken.
    pub(crate) fn reply(
        &mut self,
        connection: &mut Connection,
        packet: &Packet<'_>,
        reply: Reply,
    ) -> Option<bool> {
        let asked = &packet.header;
        let expected = connection.window.expected();
        self.answer.clear();
        self.answer.resize(HEADER_LEN, 0);
        let mut header = match reply {
            Reply::None => return None,
            Reply::Answer { status, value } => {
                self.counters.answers += 1;
                if asked.kind == Kind::Get && status == RmaStatus::Ok {
                    self.read(packet);
                }
                Header {
                    ack: connection.plain_ack(),
                    channel: asked.channel,
                    slot: asked.slot,
                    message: asked.message,
                    offset: value,
                    length: u64::from(status.number()),
                    ..Header::new(Kind::Answer)
                }
            }
            Reply::ProbeAnswer => {
                self.counters.probe_answers += 1;
                self.answer.extend_from_slice(packet.payload);
                Header {
                    ack: connection.plain_ack(),
                    message: asked.message,
                    ..Header::new(Kind::ProbeAnswer)
                }
            }
            Reply::Refusal => self.ack(connection, packet, None),
            Reply::Ack { dropped } => self.ack(connection, packet, dropped),
        };
        let is_all = header.kind != Kind::Nak && header.ack == expected;
        if is_all {
            connection.due = 0;
        }
        header.rail = asked.rail;
        header.to_connection = asked.from_connection;
        header.from_connection = asked.to_connection;
        header.to_port = asked.from_port;
        header.from_port = asked.to_port;
        header.payload_len_bytes = (self.answer.len() - HEADER_LEN) as u16;
        let mut head = header.to_bytes();
        let payload = &self.answer[HEADER_LEN..];
        seal(&mut head, payload, &self.job, &connection.keys_ours());
        self.answer[..HEADER_LEN].copy_from_slice(&head);
        Some(is_all)
    }

    fn ack(
        &mut self,
        connection: &Connection,
        packet: &Packet<'_>,
        dropped: Option<u32>,
    ) -> Header {
        let needs_payload = connection.window.has_gaps() || connection.refused.is_some();
        let has_place = self.can_lengthen || packet.payload.len() >= AckBody::LEN;
        let expected = connection.window.expected();
        if let Some((message, _)) = connection.refused.filter(|_| !has_place) {
            // An ACK that does not tell would say that the message was delivered.
            self.counters.naks += 1;
            return Header {
                ack: expected,
                message,
                length: u64::from(NakReason::SystemBusy.number()),
                ..Header::new(Kind::Nak)
            };
        }
        if needs_payload && has_place {
            let body = AckBody {
                selective: connection.window.selective(),
                refusing_system: connection.refused.map(|(message, _)| message),
                ..AckBody::default()
            };
            self.answer.extend_from_slice(&body.to_bytes());
        }
        self.counters.acks += 1;
        Header {
            ack: expected,
            message: dropped.unwrap_or(0),
            length: u64::from(dropped.is_some()),
            ..Header::new(Kind::Ack)
        }
    }

    /// What a GET asks for that is permitted.
    fn read(&mut self, packet: &Packet<'_>) {
        let (offset, length) = (packet.header.offset, packet.header.length);
        let window = self.windows.get_mut(&packet.header.channel);
        if let Some(bytes) = window.and_then(|window| window.range(offset, length)) {
            self.answer.extend_from_slice(bytes);
        }
    }
}
