//! What the agent has entered, and for whom.
//!
//! In it: `wish` (what port is asked for), `ports` (it begins, or is resumed), `ending`, `entries` (its connections and windows), `adopt` (what an earlier
//! agent has left) and `status`.

mod adopt;
mod ending;
mod entries;
mod ports;
mod status;
mod wish;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use bcl_agent_messages::{Code, Failure, InterfaceStatus};

use crate::LOG;
use crate::failure::failure;
use crate::ledger::{Ledger, Record};
use crate::limits::{Limits, Resource};
use crate::obituaries::Obituaries;
use crate::tables::{Peer, Tables};

use ending::Ended;
pub use ports::Client;
pub use wish::PortWish;

/// What the server calls a port. No other port is ever called so: their numbers in the tables are given to others once they have
/// ended, and somebody may have a line to the agent still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortId(u64);

/// All that is entered for programs, with the tables and the ledger that it stands in.
pub struct Registry {
    tables: Box<dyn Tables>,
    ledger: Ledger,
    limits: Limits,
    name: String,
    ports: BTreeMap<PortId, ServedPort>,
    next_port: PortId,
    /// Connections that were removed since their peers did not hear the interface program.
    unheard: u64,
    /// Ports of which something is left in the tables.
    ended: VecDeque<Ended>,
    obituaries: Obituaries,
}

/// A port that is entered.
struct ServedPort {
    record: Record,
    pidfd: OwnedFd,
    /// The interface that has its address, if there is one.
    interface: Option<String>,
    /// Whether a connection to this agent has it.
    attended: bool,
    connections: BTreeMap<u32, Known>,
    /// Each bound to a memory.
    windows: BTreeMap<u16, u32>,
}

/// A connection of a port.
struct Known {
    peer: Peer,
    /// Whether the interface program has it.
    is_entered: bool,
}

impl Registry {
    /// Begins with what an earlier agent of the same name has left.
    ///
    /// # Errors
    /// When tables or ledger cannot be read.
    pub fn adopt(
        tables: Box<dyn Tables>,
        ledger: Ledger,
        limits: Limits,
        name: &str,
    ) -> Result<Registry, String> {
        let mut registry = Registry {
            tables,
            ledger,
            limits,
            name: name.to_owned(),
            ports: BTreeMap::new(),
            next_port: PortId(0),
            unheard: 0,
            ended: VecDeque::new(),
            obituaries: Obituaries::default(),
        };
        registry.take_over()?;
        Ok(registry)
    }

    /// The limits of users.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Where the program is attached, or is to be.
    pub fn interfaces(&self) -> Vec<InterfaceStatus> {
        self.tables.interfaces()
    }

    /// Has the program on all interfaces that are to have it, as far as they are there. Whether all have it.
    pub fn follow_interfaces(&mut self) -> bool {
        for change in self.tables.follow_interfaces() {
            LOG.note(format_args!("{change}"));
        }
        self.interfaces().iter().all(InterfaceStatus::is_attached)
    }

    /// Ports, with the descriptor that tells of the end of each one's process.
    pub fn watched(&self) -> impl Iterator<Item = (PortId, BorrowedFd<'_>)> {
        self.ports
            .iter()
            .map(|(id, port)| (*id, port.pidfd.as_fd()))
    }

    /// When peers are to be told of a port's end.
    pub fn next_telling(&self) -> Option<Instant> {
        self.obituaries.next_at()
    }

    /// Tells them ([AGENT-7.3]).
    pub fn tell(&mut self, now: Instant) {
        self.obituaries.on_time(now);
    }

    /// Takes the program off its interfaces and forgets its tables.
    ///
    /// # Errors
    /// When a port is open, or the kernel refuses.
    pub fn withdraw(mut self) -> Result<(), String> {
        self.clear_all();
        if let Some(port) = self.ports.values().next() {
            return Err(format!(
                "{} ports are open, one of them of process {}: end their programs first",
                self.ports.len(),
                port.record.process.pid
            ));
        }
        self.tables.withdraw().map_err(|error| error.to_string())
    }

    /// After a fork: who wants to know reads the right process number.
    pub fn now_of_this_process(&mut self) {
        LOG.failed(self.ledger.sign());
    }

    /// Begins to serve a port.
    fn add(&mut self, port: ServedPort) -> PortId {
        let id = self.next_port;
        self.next_port = PortId(id.0 + 1);
        self.ports.insert(id, port);
        id
    }

    fn port(&self, id: PortId) -> Result<&ServedPort, Failure> {
        self.ports.get(&id).ok_or_else(ended)
    }

    fn port_mut(&mut self, id: PortId) -> Result<&mut ServedPort, Failure> {
        self.ports.get_mut(&id).ok_or_else(ended)
    }

    /// How much a user has of something.
    fn used(&self, uid: u32, resource: Resource) -> u64 {
        let own = self.ports.values().filter(|port| port.record.uid == uid);
        own.map(|port| port.uses(resource)).sum()
    }

    fn check(&self, what: &str, uid: u32, resource: Resource, more: u64) -> Result<(), Failure> {
        let used = self.used(uid, resource);
        self.limits.check(what, uid, resource, used, more)
    }
}

impl ServedPort {
    /// Connections that the interface program has.
    fn entered(&self) -> impl Iterator<Item = u32> {
        let entered = self
            .connections
            .iter()
            .filter(|(_, known)| known.is_entered);
        entered.map(|(number, _)| *number)
    }

    fn uses(&self, resource: Resource) -> u64 {
        match resource {
            // The server counts these.
            Resource::Clients => 0,
            Resource::Ports => 1,
            Resource::RingBytes => self.record.ring_bytes.into(),
            Resource::MemoryBytes => self.record.memories.values().sum(),
            Resource::Memories => self.record.memories.len() as u64,
            Resource::Windows => self.windows.len() as u64,
            Resource::Connections => self.connections.len() as u64,
        }
    }
}

/// Between two requests the process of a port can be found dead, while a child of it goes on asking.
fn ended() -> Failure {
    failure(
        Code::Unknown,
        "use this port",
        "the process that opened it has ended",
        "open a port of your own",
    )
}
