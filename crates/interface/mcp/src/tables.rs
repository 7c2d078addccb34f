//! All that the interface program knows of ports, connections and windows.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::thread;

use bcl_layout::Plain;
use bcl_layout::counters::{Counters, CountersPage};
use bcl_layout::tables::{
    BLOCK_BYTES, Connection, ConnectionKey, MEMORIES_MAX, NhKey, Outcomes, PORTS_MAX, PortIndex,
    PortKey, Window, WindowKey,
};

use crate::error::{Doing, Error};
use crate::object::inner_shape;
use crate::sys;
use crate::table::Table;

/// The tables that the interface program looks into for each packet. A key of a connection, window or port is entered
/// after what it speaks of, and removed before it.
#[derive(Debug)]
pub struct Tables {
    /// Which packets are for whom.
    pub ports: Table<PortKey, PortIndex>,
    /// The receiving half of connections.
    pub connections: Table<ConnectionKey, Connection>,
    /// Hash keys of jobs, by number.
    pub jobs: Table<u32, NhKey>,
    /// Last operations of the connections that have had any. The interface program makes them.
    pub outcomes: Table<ConnectionKey, Outcomes>,
    /// Windows of ports.
    pub windows: Table<WindowKey, Window>,
    memories: Table<u32, u32>,
    rings: Table<u32, u32>,
    controls: Table<u32, u32>,
    stats: Table<u32, u32>,
}

/// What a port shares with the interface program; descriptors for the port's process.
#[derive(Debug)]
pub struct PortMaps {
    /// The ring buffer, of the size that was asked for.
    pub ring: OwnedFd,
    /// The control page, which the process writes ([MCP-6.2]).
    pub control: OwnedFd,
    /// The page with its counters ([MCP-7.1]), which only the interface program writes.
    pub stats: OwnedFd,
}

impl Tables {
    /// From the maps by name; an error names the one that is missing or of another version.
    pub(crate) fn new(
        mut maps: HashMap<String, OwnedFd>,
        folder: Option<&Path>,
    ) -> Result<Self, Error> {
        let mut take = Take {
            maps: &mut maps,
            folder,
        };
        Ok(Self {
            ports: take.table("ports")?,
            connections: take.table("connections")?,
            jobs: take.table("jobs")?,
            outcomes: take.table("outcomes")?,
            windows: take.table("windows")?,
            memories: take.table("memories")?,
            rings: take.table("rings")?,
            controls: take.table("controls")?,
            stats: take.table("stats")?,
        })
    }

    pub(crate) const NAMES: [&'static str; 9] = [
        "ports",
        "connections",
        "jobs",
        "outcomes",
        "windows",
        "memories",
        "rings",
        "controls",
        "stats",
    ];

    pub(crate) fn each(&self) -> [(&'static str, BorrowedFd<'_>); 9] {
        [
            (self.ports.name(), self.ports.fd()),
            (self.connections.name(), self.connections.fd()),
            (self.jobs.name(), self.jobs.fd()),
            (self.outcomes.name(), self.outcomes.fd()),
            (self.windows.name(), self.windows.fd()),
            (self.memories.name(), self.memories.fd()),
            (self.rings.name(), self.rings.fd()),
            (self.controls.name(), self.controls.fd()),
            (self.stats.name(), self.stats.fd()),
        ]
    }

    /// Makes ring, control page and counters of a port in place of those it had. The size of the ring is a power of two
    /// of at least a page.
    ///
    /// # Errors
    /// When the kernel refuses, or has no memory.
    pub fn make_port(&self, index: u32, ring_bytes: u32) -> Result<PortMaps, Error> {
        let [ring, control, stats] = at_once([
            &|| self.make(&self.rings, index, ring_bytes),
            &|| self.make(&self.controls, index, 1),
            &|| self.make(&self.stats, index, 1),
        ]);
        let maps = PortMaps {
            ring: ring?,
            control: control?,
            stats: stats?,
        };
        sys::freeze(maps.stats.as_fd())
            .doing(|| format!("freezing the counters of port {index}"))?;
        Ok(maps)
    }

    /// Ring, control page and counters of a port, if it has any.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn port_maps(&self, index: u32) -> Result<Option<PortMaps>, Error> {
        let open = |table: &Table<u32, u32>| -> Result<Option<OwnedFd>, Error> {
            match table.get(&index)? {
                Some(id) => sys::map_by_id(id)
                    .map(Some)
                    .doing(|| format!("opening number {index} of '{}'", table.name())),
                None => Ok(None),
            }
        };
        let maps = (
            open(&self.rings)?,
            open(&self.controls)?,
            open(&self.stats)?,
        );
        Ok(match maps {
            (Some(ring), Some(control), Some(stats)) => Some(PortMaps {
                ring,
                control,
                stats,
            }),
            _ => None,
        })
    }

    /// Forgets them. They last until the last descriptor and mapping is gone.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn drop_port(&self, index: u32) -> Result<(), Error> {
        let done = at_once([
            &|| self.rings.remove(&index),
            &|| self.controls.remove(&index),
            &|| self.stats.remove(&index),
        ]);
        done.into_iter().try_for_each(|done| done.map(drop))
    }

    /// Makes a memory of at least so many bytes, all 0; it can be mapped from offset 0 on.
    ///
    /// # Errors
    /// When the kernel refuses, or has no memory.
    pub fn make_memory(&self, index: u32, len_bytes: u64) -> Result<OwnedFd, Error> {
        let blocks = len_bytes.div_ceil(BLOCK_BYTES as u64).max(1);
        let blocks = u32::try_from(blocks)
            .map_err(|_| std::io::Error::from_raw_os_error(libc::E2BIG))
            .doing(|| format!("making a memory of {len_bytes} bytes"))?;
        self.make(&self.memories, index, blocks)
    }

    /// Forgets a memory, which lasts until the last descriptor and mapping is gone.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn drop_memory(&self, index: u32) -> Result<(), Error> {
        self.memories.remove(&index).map(drop)
    }

    /// What has been counted for a port; all 0 for none. To find the port's map by its number takes CAP_SYS_ADMIN;
    /// see [`counters_in`].
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn counters(&self, index: u32) -> Result<Counters, Error> {
        match self.port_maps(index)? {
            Some(maps) => counters_in(maps.stats),
            None => Ok(Counters::default()),
        }
    }

    /// Numbers of ports that have a ring, control page or counters.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn made_ports(&self) -> Result<Vec<u32>, Error> {
        let mut made = Vec::new();
        for index in 0..PORTS_MAX {
            let outer = [&self.rings, &self.controls, &self.stats];
            let found: Vec<_> = outer
                .iter()
                .map(|outer| outer.get(&index))
                .collect::<Result<_, _>>()?;
            if found.iter().any(Option::is_some) {
                made.push(index);
            }
        }
        Ok(made)
    }

    /// Numbers of memories that were made.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn made_memories(&self) -> Result<Vec<u32>, Error> {
        let mut made = Vec::new();
        for index in 0..MEMORIES_MAX {
            if self.memories.get(&index)?.is_some() {
                made.push(index);
            }
        }
        Ok(made)
    }

    /// Removes a connection, and returns what was known of it once no packet of it is being dealt with. Its program has
    /// given it back before: no packet changes anything from then on ([MCP-6.3]).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn take_connection(
        &self,
        key: &ConnectionKey,
    ) -> Result<Option<(Connection, Option<Outcomes>)>, Error> {
        let state = loop {
            match self.connections.get(key)? {
                Some(state) if state.lock != 0 => thread::yield_now(),
                state => break state,
            }
        };
        let outcomes = self.outcomes.get(key)?;
        self.connections.remove(key)?;
        self.outcomes.remove(key)?;
        Ok(state.map(|state| (state, outcomes)))
    }

    /// Waits until no packet is being dealt with that has found something that was removed before. To be called
    /// between removing connections and entering others, which may get their place. Uses the last number of a memory.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn await_packets(&self) -> Result<(), Error> {
        // A change of a map of maps returns only then (`maybe_wait_bpf_programs` in the kernel). The one before goes with it.
        let last = MEMORIES_MAX - 1;
        self.make(&self.memories, last, 1).map(drop)
    }

    fn make(&self, outer: &Table<u32, u32>, index: u32, entries: u32) -> Result<OwnedFd, Error> {
        let name = outer.name();
        let inner = sys::create_map(name, &inner_shape(name, entries), None)
            .doing(|| format!("making number {index} of '{name}', with {entries} entries"))?;
        outer.insert(&index, &(inner.as_raw_fd() as u32))?;
        Ok(inner)
    }
}

/// Does three things side by side: each change of a map of maps waits for all packets that are being dealt with, which takes
/// the kernel a hundredth of a second, and for three changes no longer than for one.
fn at_once<T: Send>(
    [first, second, third]: [&(dyn Fn() -> Result<T, Error> + Sync); 3],
) -> [Result<T, Error>; 3] {
    thread::scope(|scope| {
        let (second, third) = (scope.spawn(second), scope.spawn(third));
        let first = first();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<T, Error>>| {
            let done = thread.join();
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        [first, join(second), join(third)]
    })
}

/// What stands in a port's map of counters.
///
/// # Errors
/// When the kernel refuses, or it is another map.
pub fn counters_in(stats: OwnedFd) -> Result<Counters, Error> {
    let page = match Table::<u32, CountersPage>::new("stats", stats)? {
        Some(table) => table.get(&0)?,
        None => None,
    };
    Ok(page.map(|page| page.counters).unwrap_or_default())
}

struct Take<'a> {
    maps: &'a mut HashMap<String, OwnedFd>,
    folder: Option<&'a Path>,
}

impl Take<'_> {
    fn table<K: Plain, V: Plain>(&mut self, name: &'static str) -> Result<Table<K, V>, Error> {
        let fits = match self.maps.remove(name) {
            Some(map) => Table::new(name, map)?,
            None => None,
        };
        fits.ok_or_else(|| match self.folder {
            Some(folder) => Error::Version {
                path: folder.join(name),
            },
            None => Error::Object(format!(
                "table '{name}' is not as crates/interface/layout/src/tables.rs has it"
            )),
        })
    }
}
