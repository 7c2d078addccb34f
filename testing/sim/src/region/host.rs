//! A host of a world: the region, and the members there.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bcl_mirror::{Before, Config, Geometry, HostId, Mirror};
use bcl_types::{Random, Span, Time};

use super::ledger::Write;
use super::memory::HostMemory;
use super::plan::{Group, Plan};

/// A host that has the region.
pub struct Host {
    pub id: HostId,
    config: Config,
    pub mirror: Mirror,
    pub memory: HostMemory,
    pub members: BTreeMap<u16, Member>,
    /// A look at its timers is planned for then.
    pub armed_at: u64,
    /// It goes on sending when its card has room.
    pub will_send: bool,
}

/// A process.
pub enum Member {
    /// It wants to be the member.
    Joining,
    /// It is.
    In {
        /// Its last write, and where its log ended then.
        last: Write,
        written: u64,
    },
}

/// Where a host of a world is.
pub fn address(host: usize) -> SocketAddr {
    SocketAddr::from(([10, 1, (host >> 8) as u8, host as u8], 4000))
}

/// What is sent there reaches several.
pub fn group_address() -> SocketAddr {
    SocketAddr::from(([239, 192, 0, 1], 4000))
}

/// One of so many hosts of a region, as they are without multicast.
pub fn config(hosts: usize, number: usize, geometry: Geometry) -> Config {
    let others = (0..hosts).filter(|other| *other != number);
    Config {
        host: HostId(1 + number as u64),
        geometry,
        secret: [7; 32],
        places: others.map(|other| vec![address(other)]).collect(),
        group: None,
        payload_bytes: 1408,
        fan_out: 16,
        patience: Span::from_ms(1000),
        seed: number as u64,
    }
}

impl Host {
    pub fn new(plan: &Plan, number: usize, random: &mut Random, now_ns: u64) -> Self {
        let id = HostId(random.next_u64() | 1);
        let config = Config {
            host: id,
            group: (plan.group != Group::None).then(group_address),
            fan_out: plan.fan_out,
            seed: random.next_u64(),
            ..config(plan.hosts, number, plan.geometry)
        };
        Self {
            id,
            mirror: Mirror::new(config.clone(), Time(now_ns)),
            config,
            memory: HostMemory::new(plan.geometry),
            members: BTreeMap::new(),
            armed_at: u64::MAX,
            will_send: false,
        }
    }

    /// The process that kept the region has ended, and another goes on from what that has written down.
    pub fn taken_over(&mut self, random: &mut Random, now_ns: u64) {
        let (logs, hosts) = self.memory.saved();
        let is_in = |member| matches!(self.members.get(&member), Some(Member::In { .. }));
        let ended = |member| match is_in(member) {
            true => None,
            false => std::num::NonZeroU32::new(9),
        };
        let before = Before {
            ended: (0..logs.len() as u16).map(ended).collect(),
            logs,
            hosts,
        };
        let config = Config {
            seed: random.next_u64(),
            ..self.config.clone()
        };
        self.mirror = Mirror::resume(config, Time(now_ns), &before, &self.memory);
        self.armed_at = u64::MAX;
    }

    /// Whether nothing is under way here.
    pub fn is_at_rest(&self) -> bool {
        self.mirror.is_settled() && self.mirror.is_at_rest()
    }
}
