//! A port begins, or is resumed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};

use bcl_agent_messages::{Answer, Code, DEFAULT_RING_BYTES, Failure, InterfaceStatus, RING_BYTES};
use bcl_daemon::Watched;
use bcl_node::PeerCredentials;
use bcl_types::{FIRST_ASSIGNED_PORT, LAST_REACHABLE_PORT};
use bcl_udp::route::{Interface, interfaces};
use bcl_udp::{BindError, Socket};
use bcl_wire::JobKeys;
use bcl_wire::udp_port;

use super::ending::Ended;
use super::{PortId, Registry, ServedPort};
use crate::failure::{failure, of_tables};
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

/// What port it asks for ([AGENT-4]).
pub struct PortWish {
    /// Address that the port's packets carry.
    pub node: Ipv4Addr,
    /// Its number, or any.
    pub number: Option<u16>,
    /// Size of its ring, if not the usual.
    pub ring_bytes: Option<u32>,
    /// Secret of the job's packets.
    pub secret: [u8; 32],
}

/// What opening a port has come to.
pub struct NewPort {
    /// What it is called from now on.
    pub id: PortId,
    /// For the program, with `fds` beside it.
    pub answer: Answer,
    /// Socket, ring, control page, statistics.
    pub fds: Vec<OwnedFd>,
}

impl Registry {
    /// Opens a port.
    ///
    /// # Errors
    /// When the client may not, or the kernel refuses.
    pub fn open(&mut self, client: &Client, wish: &PortWish) -> Result<NewPort, Failure> {
        let what = match wish.number {
            Some(number) => format!("open port {}:{number}", wish.node),
            None => format!("open a port of {}", wish.node),
        };
        let watched = client.watched(&what)?;
        let ring_bytes = ring_bytes(&what, wish)?;
        let interface = self.check_node(&what, wish.node)?;
        let (socket, number) = bind(&what, wish)?;
        self.end_forsaken(wish.node, number);
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
            node: wish.node,
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
                number,
                ring_bytes,
                singly: self.tables.take_singly(),
            },
            fds: vec![socket.into(), maps.ring, maps.control, maps.statistics],
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

    /// The interface that has this address; the program has to be there.
    fn check_node(&self, what: &str, node: Ipv4Addr) -> Result<String, Failure> {
        let wanted = self.tables.interfaces();
        let holder = holder_of(node).map_err(|error| system(what, &error))?;
        let Some(holder) = holder else {
            return Err(failure(
                Code::Invalid,
                what,
                format_args!("{node} is not an address of this machine (see `ip address`)"),
                "set BCL_NODE or the nodes file to one that is",
            ));
        };
        if wanted.iter().any(|wanted| wanted.name == holder.name) {
            self.check_interface(what, &holder.name)?;
            return Ok(holder.name.clone());
        }
        Err(failure(
            Code::Unsupported,
            what,
            format_args!(
                "{node} is on {}, and the interface program on {}",
                holder.name,
                InterfaceStatus::list(&wanted)
            ),
            format!(
                "have bcld started with `--interface {}` as well",
                holder.name
            ),
        ))
    }

    /// Whether the program is at this interface, if it is to be.
    pub(super) fn check_interface(&self, what: &str, name: &str) -> Result<(), Failure> {
        let wanted = self.tables.interfaces().into_iter();
        let missing = wanted
            .filter(|wanted| wanted.name == name)
            .find_map(|wanted| wanted.trouble);
        let Some(trouble) = missing else {
            return Ok(());
        };
        Err(failure(
            Code::Unsupported,
            what,
            format_args!("the interface program is not at {name} now: {trouble}"),
            "mend that, or wait until the interface is back; until then programs use UDP",
        ))
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
        // Bound by `bind`, so there is one.
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

/// The interface that has this address.
pub(super) fn holder_of(node: Ipv4Addr) -> io::Result<Option<Interface>> {
    let mut all = interfaces()?.into_iter();
    Ok(all.find(|own| own.holds(IpAddr::V4(node))))
}

fn ring_bytes(what: &str, wish: &PortWish) -> Result<u32, Failure> {
    let bytes = wish.ring_bytes.unwrap_or(DEFAULT_RING_BYTES);
    if bytes.is_power_of_two() && RING_BYTES.contains(&bytes) {
        return Ok(bytes);
    }
    Err(failure(
        Code::Invalid,
        what,
        format_args!("a ring cannot have {bytes} bytes"),
        format!(
            "ask for a power of two from {} to {}",
            RING_BYTES.start(),
            RING_BYTES.end()
        ),
    ))
}

fn bind(what: &str, wish: &PortWish) -> Result<(Socket, u16), Failure> {
    let bind_to = |number| {
        let udp_port = udp_port::of_port(number).ok_or_else(|| {
            failure(
                Code::Invalid,
                what,
                format_args!("port {number} cannot be reached from other nodes"),
                format!("ask for one from 1 to {LAST_REACHABLE_PORT}"),
            )
        })?;
        Ok(Socket::bind(IpAddr::V4(wish.node), udp_port).map(|socket| (socket, number)))
    };
    if let Some(number) = wish.number {
        return bind_to(number)?.map_err(|error| of_socket(what, &error));
    }
    for number in FIRST_ASSIGNED_PORT..=LAST_REACHABLE_PORT {
        match bind_to(number)? {
            Err(BindError::InUse { .. }) => {}
            result => return result.map_err(|error| of_socket(what, &error)),
        }
    }
    Err(failure(
        Code::NoRoom,
        what,
        format_args!("all ports from {FIRST_ASSIGNED_PORT} to {LAST_REACHABLE_PORT} are in use"),
        "close some (`bcl stat` shows them)",
    ))
}

/// What can be done about it stands in the error's text.
fn of_socket(what: &str, error: &BindError) -> Failure {
    let code = match error {
        BindError::InUse { .. } => Code::InUse,
        BindError::NotOurs { .. } | BindError::Reserved { .. } => Code::Invalid,
        BindError::System { .. } => Code::System,
    };
    failure(code, what, error, "")
}

fn system(what: &str, error: &io::Error) -> Failure {
    failure(
        Code::System,
        what,
        error,
        "`bcld check` looks for the cause",
    )
}
