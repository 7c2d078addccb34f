//! The tables of the interface program, as the agent fills them in.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

#[cfg(doc)]
use bcl_agent_messages::MEMORY_BLOCK_BYTES;
use bcl_agent_messages::{Connection, InterfaceStatus, Progress, Window};
use bcl_wire::{CheckKey, JobKeys};

/// Counters of the interface program by cause.
pub type Counters = BTreeMap<String, u64>;

/// What stands in the tables outlives the agent ([AGENT-8.1]). Ports, jobs and memories have numbers that the agent gives
/// them, below the [`Capacity`].
///
/// Removing what is not there is no error: an agent that was killed half-way through is followed by one that
/// does it all again.
pub trait Tables {
    /// Where the program is attached, or is to be.
    fn interfaces(&self) -> Vec<InterfaceStatus>;

    /// Attaches the program where it is to be and is no longer, as an interface is made anew. What has changed, in words.
    fn follow_interfaces(&mut self) -> Vec<String>;

    /// Whether datagrams that were sent together may come to the interface program as one ([AGENT-4.2]).
    fn take_singly(&self) -> bool;

    /// How much there can be.
    fn capacity(&self) -> Capacity;

    /// What stands in the tables, whoever has entered it.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn contents(&self) -> Result<Contents, TableError>;

    /// Gives the program the hash key of a job.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn enter_job(&mut self, job: u32, keys: &JobKeys) -> Result<(), TableError>;

    /// Takes it back.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn remove_job(&mut self, job: u32) -> Result<(), TableError>;

    /// Makes the maps of a port and enters it.
    ///
    /// # Errors
    /// When the kernel refuses; then the port is not entered.
    fn enter_port(&mut self, port: &PortEntry) -> Result<PortMaps, TableError>;

    /// Packets find the port no more. That is soon done.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn hide_port(&mut self, port: u32) -> Result<(), TableError>;

    /// The program knows the port no longer, nor its maps.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn remove_port(&mut self, port: u32) -> Result<(), TableError>;

    /// Enters a connection that is not entered.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn enter_connection(
        &mut self,
        port: u32,
        job: u32,
        connection: &Connection,
    ) -> Result<(), TableError>;

    /// Removes a connection with all that belongs to it, and tells how far it has come.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn remove_connection(
        &mut self,
        port: u32,
        connection: u32,
    ) -> Result<Option<Progress>, TableError>;

    /// Makes memory for windows, a multiple of [`MEMORY_BLOCK_BYTES`] long.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn make_memory(&mut self, memory: Memory) -> Result<OwnedFd, TableError>;

    /// The program knows the memory no longer.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn remove_memory(&mut self, memory: u32) -> Result<(), TableError>;

    /// Enters a window, or another one in its place.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn bind_window(&mut self, port: u32, window: &Window) -> Result<(), TableError>;

    /// Removes a window.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn unbind_window(&mut self, port: u32, window: u16) -> Result<(), TableError>;

    /// Waits until no packet is dealt with any more that can have found what was there before the latest change.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn settle(&mut self) -> Result<(), TableError>;

    /// Counters of the program, all ports together.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn counters(&self) -> Result<Counters, TableError>;

    /// Counters of a port.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn counters_of(&self, port: u32) -> Result<Counters, TableError>;

    /// Takes the program off its interfaces and forgets the tables.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn withdraw(&mut self) -> Result<(), TableError>;
}

/// How much the tables hold.
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// Ports.
    pub ports: u32,
    /// Jobs.
    pub jobs: u32,
    /// Memories for windows.
    pub memories: u32,
}

/// A memory for windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Its number.
    pub number: u32,
    /// Its length.
    pub bytes: u64,
}

/// A port as the program has to know it.
#[derive(Debug, Clone, Copy)]
pub struct PortEntry {
    /// Number in the tables.
    pub index: u32,
    /// Where its packets go.
    pub address: SocketAddrV4,
    /// Its job.
    pub job: u32,
    /// Size of its ring.
    pub ring_bytes: u32,
}

/// The maps of a port, for its process.
#[derive(Debug)]
pub struct PortMaps {
    /// The ring.
    pub ring: OwnedFd,
    /// The control page.
    pub control: OwnedFd,
    /// The statistics, frozen.
    pub statistics: OwnedFd,
}

/// What stands in the tables.
#[derive(Debug, Default)]
pub struct Contents {
    /// By number. A port of which only a part is left is one, too.
    pub ports: BTreeMap<u32, PortContents>,
    /// Jobs.
    pub jobs: BTreeSet<u32>,
    /// Memories, by number.
    pub memories: BTreeSet<u32>,
}

/// What is entered for a port.
#[derive(Debug, Default)]
pub struct PortContents {
    /// Connections, and who is at the other end of each.
    pub connections: BTreeMap<u32, Peer>,
    /// Windows, and the number of the memory that each is bound to.
    pub windows: BTreeMap<u16, u32>,
}

/// The other end of a connection, as far as one has to know it who says something to it.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// Where it is.
    pub at: SocketAddr,
    /// Its number of the connection.
    pub connection: u32,
    /// For what it is sent.
    pub key: CheckKey,
}

impl From<&Connection> for Peer {
    fn from(connection: &Connection) -> Self {
        Self {
            at: connection.peer,
            connection: connection.peer_connection,
            key: CheckKey::from_bytes(&connection.key_ours.0),
        }
    }
}

/// Why the tables could not be changed or read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A table is full.
    #[error("the interface program's table of {0} is full")]
    Full(String),
    /// The kernel has no memory.
    #[error("the kernel has no memory for {0}")]
    NoMemory(String),
    /// Anything else.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
}
