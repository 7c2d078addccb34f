//! What is kept for a connection, and what its sequence says of a packet ([MCP-3]).

use bcl_proto::{ConnectionState, Entering, Outcome, ReceiveWindow, Standing};
use bcl_wire::serial::before;
use bcl_wire::{CheckKey, Flags, Kind, SLOTS};

use crate::reply::Reply;
use crate::ring::Put;
use crate::{Effect, ModelPort, Packet};

/// Sequenced packets that are acknowledged together ([MCP-5.3]).
const TOGETHER: u32 = 8;
/// The bits of an ACK say of so many whether they have been taken.
const SELECTIVE: u32 = 256;

/// What the program has the agent enter ([MCP-1.5]).
#[derive(Debug, Clone)]
pub struct Entry {
    /// The program's number of the connection, which the peer's packets bear; not 0.
    pub id: u32,
    /// Of what the peer sends.
    pub theirs: CheckKey,
    /// Of what the peer is answered.
    pub ours: CheckKey,
    /// All of the peer's sequenced packets before this were taken.
    pub expected: u32,
    /// What has become of its operations, by slot, if it has asked for any.
    pub outcomes: Vec<Option<Outcome>>,
}

/// As the agent takes over what an endpoint wants entered.
impl From<Entering> for Entry {
    fn from(wanted: Entering) -> Self {
        Self {
            id: wanted.id,
            theirs: CheckKey::from_bytes(&wanted.theirs),
            ours: CheckKey::from_bytes(&wanted.ours),
            expected: wanted.expected,
            outcomes: wanted.outcomes,
        }
    }
}

/// One connection that is entered: what was taken, what is owed, what has become of operations.
#[derive(Debug)]
pub(crate) struct Connection {
    entry: Entry,
    pub window: ReceiveWindow,
    pub due: u32,
    pub refused: Option<(u32, u32)>,
    pub outcomes: Vec<Option<Outcome>>,
}

impl Connection {
    pub fn new(mut entry: Entry) -> Self {
        let mut outcomes = std::mem::take(&mut entry.outcomes);
        outcomes.resize(SLOTS.into(), None);
        Self {
            window: ReceiveWindow::new(entry.expected),
            due: 0,
            refused: None,
            outcomes,
            entry,
        }
    }

    pub fn id(&self) -> u32 {
        self.entry.id
    }

    pub fn keys_theirs(&self) -> CheckKey {
        self.entry.theirs
    }

    pub fn keys_ours(&self) -> CheckKey {
        self.entry.ours
    }

    pub fn state(&self) -> ConnectionState {
        ConnectionState {
            expected: self.window.expected(),
            taken: self.window.taken(),
            due: self.due,
            refused: self.refused,
            outcomes: self.outcomes.clone(),
        }
    }

    /// The acknowledgement that does not make a refused message a delivered one ([WIRE-9.5]).
    pub fn plain_ack(&self) -> u32 {
        let expected = self.window.expected();
        match self.refused {
            Some((_, sequence)) if before(sequence, expected) => sequence,
            _ => expected,
        }
    }

    fn take_next(&mut self) {
        self.window.advance();
        while self.window.has_gaps() && self.window.has(self.window.expected()) {
            self.window.advance();
        }
    }
}

impl ModelPort {
    /// A packet with a sequence.
    pub(crate) fn sequenced(&mut self, connection: &mut Connection, packet: &Packet<'_>) -> Effect {
        let header = &packet.header;
        let standing = connection.window.standing(header.sequence);
        let has_no_order = matches!(header.kind, Kind::Cts | Kind::Fin | Kind::Body);
        let tells = standing == Standing::Next && connection.window.has_gaps();
        let mut done = match standing {
            Standing::Next if tells && !self.ring.has_room(0) => None,
            Standing::Next => self.perform(connection, packet),
            Standing::Early if has_no_order => self.perform(connection, packet),
            Standing::Early if self.can_wait(connection, packet) => {
                self.perform(connection, packet).map(Effect::that_waits)
            }
            Standing::Early => None,
            Standing::Duplicate => {
                self.counters.duplicate += 1;
                return Effect::reply(Reply::Ack { dropped: None });
            }
            Standing::Beyond => {
                self.counters.beyond_window += 1;
                return Effect::reply(Reply::Ack { dropped: None });
            }
        };
        if let Some(effect) = &mut done {
            if tells {
                effect.record.get_or_insert(Put::Bare);
            }
            connection.due += 1;
            match standing {
                Standing::Next => connection.take_next(),
                _ => connection.window.mark(header.sequence),
            }
        } else {
            self.counters.no_room += 1;
        }
        let is_early = standing == Standing::Early;
        let asks =
            header.flags.contains(Flags::ACK_NOW) || header.flags.contains(Flags::RETRANSMIT);
        let acks = asks || is_early || connection.window.has_gaps() || connection.due >= TOGETHER;
        let mut effect = done.unwrap_or(Effect::NONE);
        if acks && matches!(effect.reply, Reply::None) {
            let dropped = done.is_none().then_some(header.sequence);
            effect.reply = Reply::Ack { dropped };
        }
        effect
    }

    /// Whether the program is to keep a packet that came early ([MCP-3.2]).
    fn can_wait(&self, connection: &Connection, packet: &Packet<'_>) -> bool {
        let header = &packet.header;
        let ahead = header.sequence.wrapping_sub(connection.window.expected());
        matches!(header.kind, Kind::Data | Kind::Rts)
            && ahead <= SELECTIVE
            && connection.refused.is_none()
            && !self.control.refuse_early
            && self.ring.is_quarter_enough(packet.payload.len())
    }

    /// What a packet says is done; `None` if there is no room for it.
    fn perform(&mut self, connection: &mut Connection, packet: &Packet<'_>) -> Option<Effect> {
        match packet.header.kind {
            Kind::Data => self.data(connection, packet),
            Kind::Body => self.body(connection.id(), packet),
            Kind::Get => self.get(packet),
            Kind::Put | Kind::Atomic => self.put_or_atomic(connection, packet),
            _ => self.pass_on(packet),
        }
    }
}
