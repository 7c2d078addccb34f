//! A port begins, or is resumed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};

use bcl_agent_messages::{Answer, Code, Failure};
use bcl_daemon::Watched;
use bcl_node::PeerCredentials;
use bcl_wire::JobKeys;
use bcl_wire::udp_port;

use super::ending::Ended;
use super::{PortId, PortWish, Registry, ServedPort};
use crate::failure::{failure, of_tables, system};
use crate::ledger::Record;
use crate::limits::Resource;
use crate::tables::{PortEntry, PortMaps};

/// Who asks.
#[derive(Debug)]
pub struct Client {
    /// Its user.
    pub uid: u32,
    /// Number of its process, 0 if it cannot be seen from here.
    pub pid: i32,
    /// The process, or why it cannot be watched.
    pub process: io::Result<Watched>,
}

/// What opening a port has come to.
pub struct NewPort {
    /// What it is called from now on.
    pub id: PortId,
    /// For the program, with `fds` beside it.
    pub answer: Answer,
    /// Ring, control page, statistics.
    pub fds: Vec<OwnedFd>,
}

impl Registry {
    /// Opens a port.
    ///
    /// # Errors
    /// When the client may not, or the kernel refuses.
    pub fn open(&mut self, client: &Client, wish: &PortWish) -> Result<NewPort, Failure> {
        let what = wish.text();
        let &PortWish {
            node,
            number,
            ring_bytes,
            ..
        } = wish;
        let watched = client.watched(&what)?;
        let interface = self.check_node(&what, node)?;
        self.end_forsaken(node, number);
        self.check(&what, client.uid, Resource::Ports, 1)?;
        self.check(&what, client.uid, Resource::RingBytes, ring_bytes.into())?;

        let full = |table: &str| {
            let error = crate::tables::TableError::Full(table.to_owned());
            of_tables(&what, &error)
        };
        let capacity = self.tables.capacity();
        let index = (0..capacity.ports)
            .find(|index| self.records().all(|record| record.index != *index))
            .ok_or_else(|| full("ports"))?;
        let keys = JobKeys::derive(&wish.secret);
        let (job, is_new_job) = self
            .job_of(client.uid, keys.id(), capacity.jobs)
            .ok_or_else(|| full("jobs"))?;
        let pidfd = watched
            .pidfd
            .try_clone()
            .map_err(|error| system(&what, &error))?;

        let record = Record {
            boot: self.ledger.boot().to_owned(),
            index,
            node,
            number,
            uid: client.uid,
            process: watched.process,
            job,
            job_id: keys.id(),
            ring_bytes,
            memories: BTreeMap::new(),
        };
        self.ledger
            .write(&record)
            .map_err(|error| system(&what, &error))?;
        let maps = match self.enter(&record, is_new_job.then_some(&keys)) {
            Ok(maps) => maps,
            Err(error) => {
                self.clear(&Ended::before_it_began(record));
                return Err(of_tables(&what, &error));
            }
        };
        let port = ServedPort {
            record,
            pidfd,
            interface: Some(interface),
            attended: true,
            connections: BTreeMap::new(),
            windows: BTreeMap::new(),
        };
        Ok(NewPort {
            id: self.add(port),
            answer: Answer::Opened {
                node,
                number,
                ring_bytes,
                singly: self.tables.take_singly(),
            },
            fds: vec![maps.ring, maps.control, maps.statistics],
        })
    }

    /// Gives a port back to its process, which had it with an agent that is gone ([AGENT-8.3]).
    ///
    /// # Errors
    /// When it is not that process, or has it already.
    pub fn resume(
        &mut self,
        client: &Client,
        node: Ipv4Addr,
        number: u16,
    ) -> Result<PortId, Failure> {
        let what = format!("resume port {node}:{number}");
        let watched = client.watched(&what)?;
        let found = self.ports.iter_mut().find(|(_, port)| {
            let record = &port.record;
            (record.node, record.number) == (node, number)
                && (record.uid, record.process) == (client.uid, watched.process)
        });
        // Whether others have such a port is nobody's business.
        let Some((id, port)) = found else {
            return Err(failure(
                Code::Unknown,
                what,
                "this process has no such port",
                "open the port anew",
            ));
        };
        if port.attended {
            return Err(failure(
                Code::InUse,
                what,
                "another connection of this process has it",
                "use that one, or close it first",
            ));
        }
        port.attended = true;
        Ok(*id)
    }

    /// The job that a user's ports with this id share, or a number for a new one.
    fn job_of(&self, uid: u32, id: u64, capacity: u32) -> Option<(u32, bool)> {
        let mut records = self.records();
        let same = records.find(|record| record.uid == uid && record.job_id == id);
        if let Some(record) = same {
            return Some((record.job, false));
        }
        let taken: BTreeSet<u32> = self.records().map(|record| record.job).collect();
        let free = (0..capacity).find(|job| !taken.contains(job))?;
        Some((free, true))
    }

    fn enter(
        &mut self,
        record: &Record,
        new_job: Option<&JobKeys>,
    ) -> Result<PortMaps, crate::tables::TableError> {
        if let Some(keys) = new_job {
            self.tables.enter_job(record.job, keys)?;
        }
        // Read from its socket, so there is one.
        let udp_port = udp_port::of_port(record.number).unwrap_or_default();
        self.tables.enter_port(&PortEntry {
            index: record.index,
            address: SocketAddrV4::new(record.node, udp_port),
            job: record.job,
            ring_bytes: record.ring_bytes,
        })
    }
}

impl Client {
    /// The process at the other end of a socket.
    pub fn new(socket: impl AsFd, peer: &PeerCredentials) -> Self {
        Self {
            uid: peer.uid,
            pid: peer.pid,
            process: Watched::peer(socket, peer.pid),
        }
    }

    /// Its process; the agent serves none that it cannot see ([AGENT-3.3]).
    fn watched(&self, what: &str) -> Result<&Watched, Failure> {
        self.process.as_ref().map_err(|error| {
            let (why, remedy) = match self.pid {
                0 => (
                    "the agent cannot see your process, which is in another pid namespace"
                        .to_owned(),
                    "run bcld in the host's pid namespace (`--pid=host`)",
                ),
                pid => (
                    format!("the agent cannot look at process {pid}: {error}"),
                    "mount /proc without hidepid for bcld",
                ),
            };
            failure(Code::NotPermitted, what, why, remedy)
        })
    }
}
