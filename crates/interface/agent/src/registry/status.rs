//! What the agent tells of itself and its ports.

use bcl_agent_messages::{Failure, PortStatus, Status};

use super::{Registry, ServedPort};
use crate::failure::of_tables;
use crate::limits::Resource;

impl Registry {
    /// The agent, its interfaces and each of its ports, with their counters.
    ///
    /// # Errors
    /// When counters cannot be read.
    pub fn status(&self) -> Result<Status, Failure> {
        let failed = |error| of_tables("tell the status", &error);
        let mut ports = Vec::with_capacity(self.ports.len());
        for port in self.ports.values() {
            let counters = self.tables.counters_of(port.record.index);
            ports.push(PortStatus {
                counters: counters.map_err(failed)?,
                ..port.status()
            });
        }
        ports.sort_by_key(|port| (port.node, port.number));
        Ok(Status {
            agent: env!("CARGO_PKG_VERSION").to_owned(),
            name: self.name.clone(),
            pid: std::process::id(),
            interfaces: self.tables.interfaces(),
            ports,
            counters: self.tables.counters().map_err(failed)?,
            unheard: self.unheard,
        })
    }
}

impl ServedPort {
    /// Without its counters.
    fn status(&self) -> PortStatus {
        let record = &self.record;
        PortStatus {
            node: record.node,
            number: record.number,
            uid: record.uid,
            pid: record.process.pid,
            attended: self.attended,
            ring_bytes: record.ring_bytes,
            connections: self.entered().count() as u32,
            windows: self.windows.len() as u32,
            memory_bytes: self.uses(Resource::MemoryBytes),
            counters: Default::default(),
        }
    }
}
