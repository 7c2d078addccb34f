//! A model of the interface program, the *MCP*: the receiver's half of entered connections, as `spec/interface.md` has it.
//!
//! The one that is loaded is `bpf/mcp.bpf.c`; this is the same in a form that tests can look into and simulations can run:
//! no clock, no I/O, and no allocation for a packet. [`ModelPort::handle`] takes a datagram; what comes of it is a
//! verdict, a record in the port's [`Ring`], the windows' memory and what is kept for the connection. The locks of
//! [MCP-2] are not here: it has one CPU.

mod connection;
mod control;
mod messages;
mod one_sided;
mod reply;
mod ring;
mod window;

use std::collections::HashMap;
use std::net::SocketAddrV4;
use std::sync::Arc;

use bcl_layout::Counters;
use bcl_proto::ConnectionState;
use bcl_wire::{HEADER_LEN, Header, JobKeys, Kind, Preamble, VERSION, parse, verify};

pub use connection::Entry;
pub use control::Control;
pub use ring::Ring;
pub use window::Window;

use connection::Connection;
use reply::Reply;
use ring::Put;

/// What becomes of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It is left alone, and goes to the port's socket.
    Pass,
    /// It goes no further: it was taken, or is counted by its cause.
    Drop,
    /// As above, and this datagram goes back to where it came from.
    Reply(&'a [u8]),
}

/// A port that the agent has entered, with all that is entered for it.
#[derive(Debug)]
pub struct ModelPort {
    number: u16,
    job: Arc<JobKeys>,
    connections: HashMap<u32, Box<Connection>>,
    windows: HashMap<u16, Window>,
    /// Written by the program.
    pub control: Control,
    /// Read by the program.
    pub ring: Ring,
    /// What was counted.
    pub counters: Counters,
    /// Whether a packet can be made longer to turn it round: not by every driver ([MCP-5.3]).
    pub can_lengthen: bool,
    answer: Vec<u8>,
}

/// A packet whose check is right.
#[derive(Debug, Clone, Copy)]
struct Packet<'a> {
    from: SocketAddrV4,
    header: Header,
    payload: &'a [u8],
    datagram: &'a [u8],
}

/// What is done with a packet that is taken.
#[derive(Debug, Clone, Copy)]
struct Effect {
    record: Option<Put>,
    reply: Reply,
}

impl Effect {
    const NONE: Self = Self::record(None);

    const fn record(record: Option<Put>) -> Self {
        Self {
            record,
            reply: Reply::None,
        }
    }

    /// The same, of a packet that the program keeps until its turn comes.
    fn that_waits(self) -> Self {
        let record = self.record.map(|_| Put::Early);
        Self { record, ..self }
    }

    const fn reply(reply: Reply) -> Self {
        Self {
            record: None,
            reply,
        }
    }
}

impl ModelPort {
    /// A port with this number, whose ring has room for so many bytes, a power of two.
    pub fn new(number: u16, job: Arc<JobKeys>, ring_bytes: usize) -> Self {
        Self {
            number,
            job,
            connections: HashMap::new(),
            windows: HashMap::new(),
            control: Control::default(),
            ring: Ring::new(ring_bytes),
            counters: Counters::default(),
            can_lengthen: true,
            answer: Vec::with_capacity(HEADER_LEN + bcl_wire::PAYLOAD_MAX),
        }
    }

    /// Enters a connection; in place of another that had its number.
    pub fn enter_connection(&mut self, entry: Entry) {
        self.connections
            .insert(entry.id, Box::new(Connection::new(entry)));
    }

    /// Removes a connection, whose packets are left alone from now on. What it knew comes back ([MCP-6.3]).
    pub fn remove_connection(&mut self, id: u32) -> Option<ConnectionState> {
        self.connections
            .remove(&id)
            .map(|connection| connection.state())
    }

    /// What is kept for a connection.
    pub fn connection(&self, id: u32) -> Option<ConnectionState> {
        self.connections
            .get(&id)
            .map(|connection| connection.state())
    }

    /// Enters a window; in place of another that had its number.
    pub fn enter_window(&mut self, number: u16, window: Window) {
        self.windows.insert(number, window);
    }

    /// Removes a window, with its memory.
    pub fn remove_window(&mut self, number: u16) -> Option<Window> {
        self.windows.remove(&number)
    }

    /// The packet's window, if it is entered and offered.
    pub(crate) fn offered(&self, number: u16) -> Option<&Window> {
        let window = self.windows.get(&number);
        window.filter(|_| self.control.is_offered(number))
    }

    /// The same to be written to, borrowed apart from the rest.
    pub(crate) fn offered_mut<'a>(
        windows: &'a mut HashMap<u16, Window>,
        control: &Control,
        number: u16,
    ) -> Option<&'a mut Window> {
        windows
            .get_mut(&number)
            .filter(|_| control.is_offered(number))
    }

    /// An entered window.
    pub fn window(&mut self, number: u16) -> Option<&mut Window> {
        self.windows.get_mut(&number)
    }

    /// A datagram has come to the port's address.
    pub fn handle(&mut self, from: SocketAddrV4, datagram: &[u8]) -> Verdict<'_> {
        let Some(mut connection) = self.whose(datagram) else {
            return Verdict::Pass;
        };
        self.counters.packets += 1;
        let reply = match parse(datagram) {
            Err(_) => {
                self.counters.malformed += 1;
                None
            }
            Ok(_) if !verify(datagram, &self.job, &connection.keys_theirs()) => {
                self.counters.check += 1;
                None
            }
            Ok((header, payload)) => {
                let packet = Packet {
                    from,
                    header,
                    payload,
                    datagram,
                };
                self.take(&mut connection, &packet)
            }
        };
        self.connections.insert(connection.id(), connection);
        match reply {
            None => Verdict::Drop,
            Some(()) => Verdict::Reply(&self.answer),
        }
    }

    /// Takes the connection out whose packet this is; `None` if the packet is to be left alone ([MCP-1.1], [MCP-1.2]).
    fn whose(&mut self, datagram: &[u8]) -> Option<Box<Connection>> {
        let preamble = Preamble::read(datagram)?;
        let kind = datagram[3];
        let is_the_programs = Kind::from_number(kind).is_some_and(|kind| {
            kind.is_setup() || matches!(kind, Kind::Refuse | Kind::Piece | Kind::Gone)
        });
        let payload_len_bytes = usize::from(u16::from_le_bytes([datagram[6], datagram[7]]));
        let is_longer_than_a_packet = datagram.len() > HEADER_LEN + payload_len_bytes;
        let id = preamble.to_connection;
        let is_left_alone = preamble.version != VERSION
            || is_the_programs
            || is_longer_than_a_packet
            || preamble.to_port != self.number
            || self.control.is_given_back(id);
        if is_left_alone {
            return None;
        }
        self.connections.remove(&id)
    }

    /// A packet of the peer. Whether something goes back, which then lies in `answer`.
    fn take(&mut self, connection: &mut Connection, packet: &Packet<'_>) -> Option<()> {
        let effect = match packet.header.is_sequenced() {
            true => self.sequenced(connection, packet),
            false => self.unsequenced(packet),
        };
        let is_acked = self.reply(connection, packet, effect.reply);
        if let Some(put) = effect.record {
            let ack = connection.plain_ack();
            self.put(packet, put, ack, is_acked == Some(true));
        }
        is_acked.map(|_| ())
    }

    /// A record goes into the ring, where there is room for it ([MCP-6.5]).
    fn put(&mut self, packet: &Packet<'_>, put: Put, ack: u32, is_acked: bool) {
        self.ring.put(packet, put, ack, is_acked);
        self.counters.records += 1;
        if self.control.sleeps && self.ring.wake() {
            self.counters.wakes += 1;
        }
    }

    /// What has no sequence ([MCP-4.4]).
    fn unsequenced(&mut self, packet: &Packet<'_>) -> Effect {
        let header = &packet.header;
        let has_room = self.ring.has_room(packet.payload.len())
            && (header.kind != Kind::Data || self.has_room_for_message(header.length));
        if !has_room {
            self.counters.no_room += 1;
        }
        Effect {
            record: has_room.then_some(Put::Whole),
            reply: match header.kind {
                Kind::Probe => Reply::ProbeAnswer,
                _ => Reply::None,
            },
        }
    }
}
