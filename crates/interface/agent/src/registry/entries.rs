//! Connections and windows of a port.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use bcl_agent_messages::{
    Answer, Code, Connection, Failure, MEMORY_BLOCK_BYTES, MEMORY_MAX_BYTES, Outcome, Window,
};
use bcl_wire::{RmaStatus, SLOTS, udp_port};

use super::{Known, PortId, Registry};
use crate::failure::{failure, of_tables};
use crate::limits::Resource;
use crate::tables::{Memory, TableError};

/// All bits that `access` can have.
const ACCESS: u32 = 15;

impl Registry {
    /// The interface program has a connection from now on.
    ///
    /// # Errors
    /// When it may not, or the kernel refuses.
    pub fn enter_connection(&mut self, id: PortId, connection: &Connection) -> Result<(), Failure> {
        let number = connection.connection;
        let what = format!("enter connection {number}");
        let port = self.port(id)?;
        if number == 0 {
            let why = "no connection has number 0";
            return Err(failure(
                Code::Invalid,
                what,
                why,
                "number connections from 1",
            ));
        }
        let known = port.connections.get(&number);
        if known.is_some_and(|known| known.is_entered) {
            let why = "it is entered already";
            return Err(failure(Code::InUse, what, why, "remove it first"));
        }
        let is_new = known.is_none();
        let (index, job) = (port.record.index, port.record.job);
        check_peer(&what, connection.peer)?;
        check_outcomes(&what, &connection.outcomes)?;
        if let Some(interface) = &port.interface {
            self.check_interface(&what, interface)?;
        }
        if is_new {
            self.check(&what, port.record.uid, Resource::Connections, 1)?;
        }
        self.tables
            .enter_connection(index, job, connection)
            .map_err(|error| of_tables(&what, &error))?;
        let known = Known {
            peer: connection.into(),
            is_entered: true,
        };
        self.port_mut(id)?.connections.insert(number, known);
        Ok(())
    }

    /// The interface program has a connection no longer, nor has the port one that has `ended`.
    ///
    /// # Errors
    /// When it does not now, or the kernel refuses.
    pub fn remove_connection(
        &mut self,
        id: PortId,
        number: u32,
        ended: bool,
        unheard: bool,
    ) -> Result<Answer, Failure> {
        let what = format!("remove connection {number}");
        let port = self.port(id)?;
        let index = port.record.index;
        let known = port.connections.get(&number);
        let state = match known.map(|known| known.is_entered) {
            Some(true) => self
                .tables
                .remove_connection(index, number)
                .map_err(|error| of_tables(&what, &error))?,
            Some(false) if ended => None,
            _ => return Err(unknown(what, "it is not entered")),
        };
        let connections = &mut self.port_mut(id)?.connections;
        match connections.get_mut(&number) {
            Some(known) if !ended => known.is_entered = false,
            _ => drop(connections.remove(&number)),
        }
        self.unheard += u64::from(unheard);
        Ok(Answer::Removed { state })
    }

    /// Makes memory for windows.
    ///
    /// # Errors
    /// When the user may not have as much, or the kernel has not.
    pub fn make_memory(&mut self, id: PortId, bytes: u64) -> Result<(Answer, OwnedFd), Failure> {
        let what = format!("make {bytes} bytes of window memory");
        let uid = self.port(id)?.record.uid;
        let len_bytes = in_blocks(&what, bytes)?;
        self.check(&what, uid, Resource::Memories, 1)?;
        self.check(&what, uid, Resource::MemoryBytes, len_bytes)?;
        let memory = Memory {
            number: self.free_memory_number(&what)?,
            bytes: len_bytes,
        };
        // Written down before it is made: what is made twice is removed once.
        self.write_down(id, &what, |memories| {
            memories.insert(memory.number, memory.bytes);
        })?;
        match self.tables.make_memory(memory) {
            Ok(map) => Ok((
                Answer::Memory {
                    memory: memory.number,
                    bytes: memory.bytes,
                },
                map,
            )),
            Err(error) => {
                self.write_down(id, &what, |memories| {
                    memories.remove(&memory.number);
                })?;
                Err(of_tables(&what, &error))
            }
        }
    }

    /// Gives memory back.
    ///
    /// # Errors
    /// When it is not the port's, or a window is bound to it.
    pub fn free_memory(&mut self, id: PortId, number: u32) -> Result<(), Failure> {
        let what = format!("free memory {number}");
        self.memory(id, number, &what)?;
        let windows = &self.port(id)?.windows;
        if let Some((window, _)) = windows.iter().find(|(_, bound)| **bound == number) {
            return Err(failure(
                Code::InUse,
                what,
                format_args!("window {window} is bound to it"),
                "unbind the window first",
            ));
        }
        self.tables
            .remove_memory(number)
            .map_err(|error| of_tables(&what, &error))?;
        self.write_down(id, &what, |memories| {
            memories.remove(&number);
        })
    }

    /// Lets peers use a part of a memory.
    ///
    /// # Errors
    /// When it is not the port's, or does not lie in it.
    pub fn bind_window(&mut self, id: PortId, window: &Window) -> Result<(), Failure> {
        let what = format!("bind window {}", window.window);
        let memory = self.memory(id, window.memory, &what)?;
        let end = window.offset.checked_add(window.bytes);
        if end.is_none_or(|end| end > memory.bytes) || !window.offset.is_multiple_of(8) {
            return Err(failure(
                Code::Invalid,
                what,
                format_args!(
                    "{} bytes from {} do not lie in memory {} with its {} bytes, from a multiple of 8",
                    window.bytes, window.offset, window.memory, memory.bytes
                ),
                "bind a part of the memory",
            ));
        }
        if window.access & !ACCESS != 0 {
            return Err(failure(
                Code::Invalid,
                what,
                format_args!("there is no access {:#x}", window.access),
                "use the bits 1 get, 2 put, 4 atomic and 8 notify",
            ));
        }
        let port = self.port(id)?;
        let index = port.record.index;
        if !port.windows.contains_key(&window.window) {
            self.check(&what, port.record.uid, Resource::Windows, 1)?;
        }
        self.tables
            .bind_window(index, window)
            .map_err(|error| of_tables(&what, &error))?;
        let windows = &mut self.port_mut(id)?.windows;
        windows.insert(window.window, window.memory);
        if let Err(error) = self.tables.settle() {
            self.unbind_window(id, window.window)?;
            return Err(of_tables(&what, &error));
        }
        Ok(())
    }

    /// Peers may use a window no longer: when this returns nothing of its memory changes for them.
    ///
    /// # Errors
    /// When nothing is bound to it.
    pub fn unbind_window(&mut self, id: PortId, window: u16) -> Result<(), Failure> {
        let what = format!("unbind window {window}");
        let port = self.port(id)?;
        let index = port.record.index;
        if !port.windows.contains_key(&window) {
            return Err(unknown(what, "nothing is bound to it"));
        }
        self.tables
            .unbind_window(index, window)
            .map_err(|error| of_tables(&what, &error))?;
        self.port_mut(id)?.windows.remove(&window);
        self.tables
            .settle()
            .map_err(|error| of_tables(&what, &error))
    }

    fn memory(&self, id: PortId, number: u32, what: &str) -> Result<Memory, Failure> {
        let memories = &self.port(id)?.record.memories;
        let bytes = memories.get(&number).copied();
        let bytes =
            bytes.ok_or_else(|| unknown(what, &format!("the port has no memory {number}")))?;
        Ok(Memory { number, bytes })
    }

    fn free_memory_number(&self, what: &str) -> Result<u32, Failure> {
        let is_taken = |number: &u32| {
            let mut records = self.records();
            records.any(|record| record.memories.contains_key(number))
        };
        let mut numbers = 0..self.tables.capacity().memories;
        let free = numbers.find(|number| !is_taken(number));
        free.ok_or_else(|| of_tables(what, &TableError::Full("window memories".into())))
    }

    fn write_down(
        &mut self,
        id: PortId,
        what: &str,
        change: impl FnOnce(&mut std::collections::BTreeMap<u32, u64>),
    ) -> Result<(), Failure> {
        let mut record = self.port(id)?.record.clone();
        change(&mut record.memories);
        self.ledger.write(&record).map_err(|error| {
            failure(
                Code::System,
                what,
                format_args!("the agent cannot write it down: {error}"),
                "make room in the folder that bcld keeps its state in (/run/bcl)",
            )
        })?;
        self.port_mut(id)?.record = record;
        Ok(())
    }
}

/// Something may be said there one day, by the agent: to a port of BCL, and to one host.
fn check_peer(what: &str, peer: SocketAddr) -> Result<(), Failure> {
    let address = peer.ip().to_canonical();
    let is_of_many = match address {
        IpAddr::V4(address) => address.is_broadcast(),
        IpAddr::V6(_) => false,
    } || address.is_multicast();
    if udp_port::to_port(peer.port()).is_some() && !is_of_many && !address.is_unspecified() {
        return Ok(());
    }
    let why = format_args!("no port of BCL is at {peer}");
    let remedy = "give the peer's address and UDP port";
    Err(failure(Code::Invalid, what, why, remedy))
}

fn check_outcomes(what: &str, outcomes: &[Outcome]) -> Result<(), Failure> {
    let is_one = |outcome: &Outcome| {
        let status = outcome.status.try_into().ok();
        outcome.slot < SLOTS && status.and_then(RmaStatus::from_number).is_some()
    };
    match outcomes.iter().find(|outcome| !is_one(outcome)) {
        None => Ok(()),
        Some(Outcome { slot, status, .. }) => Err(failure(
            Code::Invalid,
            what,
            format_args!("no operation has slot {slot} and status {status}"),
            format!("give slots below {SLOTS}, and what an ANSWER has told"),
        )),
    }
}

fn in_blocks(what: &str, bytes: u64) -> Result<u64, Failure> {
    if (1..=MEMORY_MAX_BYTES).contains(&bytes) {
        return Ok(bytes.next_multiple_of(MEMORY_BLOCK_BYTES));
    }
    Err(failure(
        Code::Invalid,
        what,
        "that is no size of a window",
        format!("ask for 1 to {MEMORY_MAX_BYTES} bytes"),
    ))
}

fn unknown(what: impl Into<String>, why: &str) -> Failure {
    failure(Code::Unknown, what, why, "check the number")
}

#[test]
fn memory_comes_in_blocks() {
    let blocks = |bytes| in_blocks("x", bytes).ok();
    assert_eq!(blocks(1), Some(64 << 10));
    assert_eq!(blocks(64 << 10), Some(64 << 10));
    assert_eq!(blocks((128 << 10) + 1), Some(192 << 10));
    assert_eq!(blocks(1 << 30), Some(1 << 30));
    assert_eq!(
        (blocks(0), blocks((1 << 30) + 1), blocks(u64::MAX)),
        (None, None, None)
    );
}
