//! What is entered and removed.
//!
//! The interface program finds an entry and uses it while it deals with a packet; meanwhile the kernel gives the place of
//! an entry that is removed to the next one that is entered. So between removing and entering the agent waits until no
//! packet is left that can have found the old one ([`Kernel::await_packets`]): else a packet of one user's could change
//! what is another's.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use bcl_agent_messages::{Connection, InterfaceStatus, Progress, Window};
use bcl_layout::tables::{
    self as layout, ConnectionKey, JOBS_MAX, MEMORIES_MAX, NH_KEY_LEN, NhKey, PORTS_MAX, PortIndex,
    PortKey, WindowKey,
};
use bcl_mcp::{Error, Mode, pins};
use bcl_wire::{CheckKey, JobKeys};

use super::Kernel;
use super::places::Place;
use super::state::{entered, progress};
use crate::tables::{
    Capacity, Contents, Counters, Memory, Peer, PortEntry, PortMaps, TableError, Tables,
};

/// Looks at a connection that is locked before it is given up. The interface program holds it for less than 10 us.
const LOOKS: u32 = 10_000;
/// Outcomes that wait to be removed.
const RETIRED_MAX: usize = 256;

type Done<T = ()> = Result<T, TableError>;

impl Kernel {
    /// From now on no packet uses what was removed before.
    fn await_packets(&mut self) -> Done {
        if !self.may_be_in_use {
            return Ok(());
        }
        self.mcp
            .tables
            .await_packets()
            .map_err(|error| refused(&error, "packets to be done"))?;
        for key in self.retired.drain(..) {
            let removed = self.mcp.tables.outcomes.remove(&key);
            removed.map_err(|error| refused(&error, "outcomes"))?;
        }
        self.may_be_in_use = false;
        Ok(())
    }

    /// The state of a connection, between two packets.
    fn state_of(&self, key: &ConnectionKey) -> Done<Option<layout::Connection>> {
        for _ in 0..LOOKS {
            let state = self.mcp.tables.connections.get(key);
            match state.map_err(|error| refused(&error, "connections"))? {
                Some(state) if state.lock != 0 => thread::yield_now(),
                state => return Ok(state),
            }
        }
        Err(TableError::System {
            what: "read a connection that packets keep coming for".into(),
            source: io::ErrorKind::WouldBlock.into(),
        })
    }
}

impl Tables for Kernel {
    fn interfaces(&self) -> Vec<InterfaceStatus> {
        self.places.iter().map(Place::status).collect()
    }

    fn follow_interfaces(&mut self) -> Vec<String> {
        let (mcp, folder) = (&self.mcp, &self.folder);
        let places = self.places.iter_mut();
        places
            .filter_map(|place| place.follow(mcp, folder))
            .collect()
    }

    /// Behind the driver of a virtual interface the kernel has not cut what was sent with `UDP_SEGMENT`.
    fn take_singly(&self) -> bool {
        let mut modes = self.places.iter().map(Place::mode);
        modes.any(|mode| mode == Some(Mode::Generic))
    }

    fn capacity(&self) -> Capacity {
        Capacity {
            ports: PORTS_MAX,
            jobs: JOBS_MAX,
            // The last is used for waiting.
            memories: MEMORIES_MAX - 1,
        }
    }

    fn contents(&self) -> Done<Contents> {
        let failed = |error: Error| refused(&error, "tables");
        let tables = &self.mcp.tables;
        let mut contents = Contents::default();
        let indices = tables.made_ports().map_err(failed)?;
        for index in indices
            .iter()
            .chain(self.addresses.keys())
            .chain(self.statistics.keys())
        {
            contents.ports.entry(*index).or_default();
        }
        for key in tables.connections.keys().map_err(failed)? {
            let Some(connection) = tables.connections.get(&key).map_err(failed)? else {
                continue;
            };
            let port = contents.ports.entry(key.port).or_default();
            port.connections.insert(key.id, peer(&connection));
        }
        for key in tables.windows.keys().map_err(failed)? {
            let Some(window) = tables.windows.get(&key).map_err(failed)? else {
                continue;
            };
            let port = contents.ports.entry(key.port).or_default();
            // The agent enters no others.
            let number = u16::try_from(key.window).unwrap_or(u16::MAX);
            port.windows.insert(number, window.memory);
        }
        contents.memories = tables
            .made_memories()
            .map_err(failed)?
            .into_iter()
            .collect();
        for job in 0..JOBS_MAX {
            let key = tables.jobs.get(&job).map_err(failed)?;
            if key.is_some_and(|key| key.0 != [0; NH_KEY_LEN]) {
                contents.jobs.insert(job);
            }
        }
        Ok(contents)
    }

    fn enter_job(&mut self, job: u32, keys: &JobKeys) -> Done {
        let entered = self.mcp.tables.jobs.insert(&job, &NhKey::new(keys));
        entered.map_err(|error| refused(&error, "jobs"))
    }

    fn remove_job(&mut self, job: u32) -> Done {
        let removed = self.mcp.tables.jobs.insert(&job, &NhKey([0; NH_KEY_LEN]));
        removed.map_err(|error| refused(&error, "jobs"))
    }

    fn enter_port(&mut self, port: &PortEntry) -> Done<PortMaps> {
        let failed = |error: Error| refused(&error, "ports");
        self.await_packets()?;
        let tables = &self.mcp.tables;
        let maps = tables
            .make_port(port.index, port.ring_bytes)
            .map_err(failed)?;
        let pin = self.statistics_pin(port.index);
        pins::unpin(&pin).map_err(failed)?;
        pins::pin(maps.stats.as_fd(), &pin).map_err(failed)?;
        let statistics = maps
            .stats
            .try_clone()
            .map_err(|source| TableError::System {
                what: "keep the descriptor of a port's counters".into(),
                source,
            })?;
        self.statistics.insert(port.index, statistics);
        let key = PortKey::new(*port.address.ip(), port.address.port());
        let value = PortIndex { index: port.index };
        tables.ports.insert(&key, &value).map_err(failed)?;
        self.addresses.insert(port.index, key);
        Ok(PortMaps {
            ring: maps.ring,
            control: maps.control,
            statistics: maps.stats,
        })
    }

    fn hide_port(&mut self, port: u32) -> Done {
        if let Some(key) = self.addresses.remove(&port) {
            self.may_be_in_use = true;
            let removed = self.mcp.tables.ports.remove(&key);
            removed.map_err(|error| refused(&error, "ports"))?;
        }
        Ok(())
    }

    fn remove_port(&mut self, port: u32) -> Done {
        let failed = |error: Error| refused(&error, "ports");
        self.hide_port(port)?;
        self.may_be_in_use = true;
        self.mcp.tables.drop_port(port).map_err(failed)?;
        self.statistics.remove(&port);
        pins::unpin(&self.statistics_pin(port)).map_err(failed)
    }

    fn enter_connection(&mut self, port: u32, job: u32, connection: &Connection) -> Done {
        self.await_packets()?;
        let key = ConnectionKey {
            port,
            id: connection.connection,
        };
        let [theirs, ours] =
            [&connection.key_theirs, &connection.key_ours].map(|key| CheckKey::from_bytes(&key.0));
        let entry = layout::Connection {
            peer_address: mapped(connection.peer.ip()).octets(),
            peer_udp_port: connection.peer.port().into(),
            peer_id: connection.peer_connection,
            ..layout::Connection::new(job, &theirs, &ours, connection.expected)
        };
        let tables = &self.mcp.tables;
        if !connection.outcomes.is_empty() {
            let outcomes = entered(&connection.outcomes);
            let entered = tables.outcomes.insert(&key, &outcomes);
            entered.map_err(|error| refused(&error, "outcomes"))?;
        }
        tables.connections.insert(&key, &entry).map_err(|error| {
            // No packet has found them.
            let _ = tables.outcomes.remove(&key);
            refused(&error, "connections")
        })
    }

    fn remove_connection(&mut self, port: u32, connection: u32) -> Done<Option<Progress>> {
        let failed = |error: Error| refused(&error, "connections");
        let key = ConnectionKey {
            port,
            id: connection,
        };
        let state = self.state_of(&key);
        let outcomes = self.mcp.tables.outcomes.get(&key).map_err(failed)?;
        self.mcp.tables.connections.remove(&key).map_err(failed)?;
        self.may_be_in_use = true;
        self.retired.push(key);
        if self.retired.len() >= RETIRED_MAX {
            self.await_packets()?;
        }
        Ok(state?.map(|state| progress(&state, outcomes.as_ref())))
    }

    fn make_memory(&mut self, memory: Memory) -> Done<OwnedFd> {
        let made = self.mcp.tables.make_memory(memory.number, memory.bytes);
        made.map_err(|error| refused(&error, &format!("{} bytes of window memory", memory.bytes)))
    }

    fn remove_memory(&mut self, memory: u32) -> Done {
        let removed = self.mcp.tables.drop_memory(memory);
        removed.map_err(|error| refused(&error, "window memories"))
    }

    fn bind_window(&mut self, port: u32, window: &Window) -> Done {
        self.await_packets()?;
        let entry = layout::Window {
            memory: window.memory,
            access: window.access,
            base: window.offset,
            len: window.bytes,
        };
        let entered = self
            .mcp
            .tables
            .windows
            .insert(&window_key(port, window.window), &entry);
        // The entry that was there before, if any, is free now; and that there was none may be known to a packet.
        self.may_be_in_use = true;
        entered.map_err(|error| refused(&error, "windows"))
    }

    fn unbind_window(&mut self, port: u32, window: u16) -> Done {
        self.may_be_in_use = true;
        let removed = self.mcp.tables.windows.remove(&window_key(port, window));
        removed
            .map(drop)
            .map_err(|error| refused(&error, "windows"))
    }

    fn settle(&mut self) -> Done {
        self.await_packets()
    }

    fn counters(&self) -> Done<Counters> {
        let mut sum = Counters::new();
        for name in bcl_layout::Counters::NAMES {
            sum.insert((*name).to_owned(), 0);
        }
        for port in self.statistics.keys() {
            for (name, value) in self.counters_of(*port)? {
                *sum.entry(name).or_default() += value;
            }
        }
        Ok(sum)
    }

    fn counters_of(&self, port: u32) -> Done<Counters> {
        let Some(map) = self.statistics.get(&port) else {
            return Ok(Counters::new());
        };
        let map = map.try_clone().map_err(|source| TableError::System {
            what: "read a port's counters".into(),
            source,
        })?;
        let counters = bcl_mcp::counters_in(map).map_err(|error| refused(&error, "counters"))?;
        let pairs = counters
            .each()
            .map(|(name, value)| (name.to_owned(), value));
        Ok(pairs.collect())
    }

    fn withdraw(&mut self) -> Done {
        self.unpin_all().map_err(|error| refused(&error, "pins"))
    }
}

fn window_key(port: u32, window: u16) -> WindowKey {
    WindowKey {
        port,
        window: window.into(),
    }
}

/// Who is at the other end of an entered connection.
fn peer(connection: &layout::Connection) -> Peer {
    let address = Ipv6Addr::from(connection.peer_address).to_canonical();
    // The agent enters no others.
    let udp_port = u16::try_from(connection.peer_udp_port).unwrap_or_default();
    Peer {
        at: SocketAddr::new(address, udp_port),
        connection: connection.peer_id,
        key: connection.our_key(),
    }
}

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// By what the kernel says: memory and tables run out in the course of things.
fn refused(error: &Error, what: &str) -> TableError {
    let Error::Kernel { doing, source } = error else {
        return TableError::System {
            what: format!("use the interface program's {what}"),
            source: io::Error::other(error.to_string()),
        };
    };
    match source.raw_os_error() {
        Some(libc::ENOMEM) => TableError::NoMemory(what.to_owned()),
        Some(libc::E2BIG | libc::ENOSPC) => TableError::Full(what.to_owned()),
        _ => TableError::System {
            what: doing.clone(),
            source: io::Error::new(source.kind(), source.to_string()),
        },
    }
}
