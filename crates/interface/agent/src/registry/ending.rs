//! A port ends ([AGENT-7]): packets find it no more, and its peers are told. What belongs to it leaves the tables after that, one
//! port at a time: that takes the kernel hundredths of a second, and others may end meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::time::Instant;

use super::{PortId, Registry};
use crate::LOG;
use crate::ledger::Record;
use crate::obituaries::Deceased;
use crate::tables::Peer;

/// A port that has ended, and what of it is still in the tables.
pub(super) struct Ended {
    pub record: Record,
    pub connections: BTreeSet<u32>,
    pub windows: BTreeMap<u16, u32>,
}

impl Ended {
    /// Of which nothing was entered but the port itself, if that.
    pub fn before_it_began(record: Record) -> Self {
        Self {
            record,
            connections: BTreeSet::new(),
            windows: BTreeMap::new(),
        }
    }
}

impl Registry {
    /// A port ends. [`clear_one`](Self::clear_one) has to follow.
    pub fn end(&mut self, id: PortId) {
        let ended = self.take_out(id);
        self.ended.extend(ended);
    }

    /// A port ends, and when this returns nothing is left of it.
    pub fn close(&mut self, id: PortId) {
        if let Some(ended) = self.take_out(id) {
            self.clear(&ended);
        }
    }

    fn take_out(&mut self, id: PortId) -> Option<Ended> {
        let port = self.ports.remove(&id)?;
        LOG.failed(self.tables.hide_port(port.record.index));
        let ended = Ended {
            connections: port.entered().collect(),
            windows: port.windows,
            record: port.record,
        };
        let peers = port.connections.into_iter();
        let peers = peers.map(|(number, known)| (number, known.peer)).collect();
        self.mourn(&ended.record, Some(port.pidfd), peers);
        Some(ended)
    }

    /// Whoever had this port has closed its socket, or it could not have been bound: while there was no agent, or
    /// without telling.
    pub(super) fn end_forsaken(&mut self, node: Ipv4Addr, number: u16) {
        let mut ports = self.ports.iter();
        let earlier =
            ports.find(|(_, port)| (port.record.node, port.record.number) == (node, number));
        if let Some((&id, _)) = earlier {
            self.end(id);
        }
    }

    /// Peers are to be told of a port's end.
    pub(super) fn mourn(
        &mut self,
        record: &Record,
        pidfd: Option<OwnedFd>,
        peers: Vec<(u32, Peer)>,
    ) {
        let of = Deceased {
            node: record.node,
            number: record.number,
            pidfd,
            peers,
        };
        self.obituaries.add(Instant::now(), of);
    }

    /// Whether something is left of a port that has ended, and nobody waits for something more urgent.
    pub fn has_to_clear(&self) -> bool {
        !self.ended.is_empty() && !self.obituaries.are_urgent()
    }

    /// Takes what is left of one such port out of the tables.
    pub fn clear_one(&mut self) {
        if self.has_to_clear()
            && let Some(ended) = self.ended.pop_front()
        {
            self.clear(&ended);
        }
    }

    /// The same for all of them.
    pub(super) fn clear_all(&mut self) {
        while let Some(ended) = self.ended.pop_front() {
            self.clear(&ended);
        }
    }

    /// The record goes last: until then the next agent would do it.
    pub(super) fn clear(&mut self, ended: &Ended) {
        let record = &ended.record;
        let index = record.index;
        for connection in &ended.connections {
            LOG.failed(self.tables.remove_connection(index, *connection));
        }
        for window in ended.windows.keys() {
            LOG.failed(self.tables.unbind_window(index, *window));
        }
        LOG.failed(self.tables.remove_port(index));
        for memory in record.memories.keys() {
            LOG.failed(self.tables.remove_memory(*memory));
        }
        if self.records().all(|other| other.job != record.job) {
            LOG.failed(self.tables.remove_job(record.job));
        }
        LOG.failed(self.ledger.remove(index));
    }

    /// Of all ports of which something stands in the tables.
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        let served = self.ports.values().map(|port| &port.record);
        served.chain(self.ended.iter().map(|ended| &ended.record))
    }
}
