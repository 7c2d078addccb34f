//! What an earlier agent of the same name has left ([AGENT-8.2]).

use std::collections::BTreeSet;
use std::net::IpAddr;

use bcl_daemon::Watched;
use bcl_udp::Socket;
use bcl_wire::udp_port;

use super::ending::Ended;
use super::wish::holder_of;
use super::{Known, Registry, ServedPort};
use crate::LOG;
use crate::ledger::Record;
use crate::tables::{Contents, Peer};

impl Registry {
    /// Keeps what belongs to a process that lives, and removes all else.
    pub(super) fn take_over(&mut self) -> Result<(), String> {
        let mut contents = self
            .tables
            .contents()
            .map_err(|error| format!("cannot read what an earlier agent has left: {error}"))?;
        let records = self
            .ledger
            .read()
            .map_err(|error| format!("cannot read what an earlier agent has written: {error}"))?;
        let mut dead = Vec::new();
        for record in records {
            let entered = contents.ports.remove(&record.index);
            match (entered, Watched::find(record.process)) {
                (Some(entered), Some(watched)) if has_socket(&record) => {
                    let port = ServedPort {
                        pidfd: watched.pidfd,
                        interface: holder_of(record.node)
                            .ok()
                            .flatten()
                            .map(|holder| holder.name),
                        attended: false,
                        connections: entered.connections.into_iter().map(known).collect(),
                        windows: entered.windows,
                        record,
                    };
                    self.add(port);
                }
                // Its process has ended or become another program, or the agent has ended before the port was entered.
                (entered, _) => dead.push((record, entered.unwrap_or_default())),
            }
        }
        let removed = dead.len() + contents.ports.len();
        for (record, entered) in dead {
            let ended = Ended {
                connections: entered.connections.keys().copied().collect(),
                windows: entered.windows,
                record,
            };
            self.clear(&ended);
            self.mourn(
                &ended.record,
                None,
                entered.connections.into_iter().collect(),
            );
        }
        self.remove_ownerless(&contents);
        if !self.ports.is_empty() || removed > 0 {
            let kept = self.ports.len();
            LOG.note(format_args!(
                "of an earlier agent: {kept} ports kept, {removed} removed"
            ));
        }
        Ok(())
    }

    /// Removes what no record speaks of.
    fn remove_ownerless(&mut self, contents: &Contents) {
        for (index, entered) in &contents.ports {
            for connection in entered.connections.keys() {
                LOG.failed(self.tables.remove_connection(*index, *connection));
            }
            for window in entered.windows.keys() {
                LOG.failed(self.tables.unbind_window(*index, *window));
            }
            LOG.failed(self.tables.remove_port(*index));
        }
        let records = || self.ports.values().map(|port| &port.record);
        let memories = records().flat_map(|record| record.memories.keys().copied());
        let memories: BTreeSet<u32> = memories.collect();
        let jobs: BTreeSet<u32> = records().map(|record| record.job).collect();
        for memory in contents.memories.difference(&memories) {
            LOG.failed(self.tables.remove_memory(*memory));
        }
        for job in contents.jobs.difference(&jobs) {
            LOG.failed(self.tables.remove_job(*job));
        }
        self.forget_memories_that_were_not_made(contents);
    }

    /// An agent that is killed while it makes a memory has written it down, and told nobody its number.
    fn forget_memories_that_were_not_made(&mut self, contents: &Contents) {
        for port in self.ports.values_mut() {
            let memories = &mut port.record.memories;
            let before = memories.len();
            memories.retain(|number, _| contents.memories.contains(number));
            if memories.len() != before {
                LOG.failed(self.ledger.write(&port.record));
            }
        }
    }
}

fn known((number, peer): (u32, Peer)) -> (u32, Known) {
    let is_entered = true;
    (number, Known { peer, is_entered })
}

/// Whether the port's socket is there, which its process closes with the port, and the kernel when the process calls exec:
/// number and time of start stay what they were.
fn has_socket(record: &Record) -> bool {
    udp_port::of_port(record.number)
        .is_some_and(|port| Socket::is_taken(IpAddr::V4(record.node), port))
}
