//! What is going to happen in a world.

use bcl_mirror::Geometry;
use bcl_types::Random;

use crate::net::{Faults, Rate};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// What sort of world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing goes wrong.
    Calm,
    /// One packet of twenty is lost.
    Lossy,
    /// Everything that a link can do wrong, to one packet of ten.
    Rough,
    /// Hosts come late, long after others have begun.
    Late,
    /// Processes end, and come again.
    Deaths,
    /// Whole hosts end, and come again.
    Crashes,
    /// Hosts cannot hear each other for a while, short or long.
    Cuts,
    /// Hosts stop, and go on.
    Pauses,
    /// A host's process that keeps the region ends, and another goes on.
    Takeovers,
    /// All of that.
    All,
    /// 40 hosts: packets are passed on.
    Crowd,
    /// 256 hosts.
    Multitude,
}

impl Kind {
    /// All of them, with their names.
    pub const ALL: &[(&'static str, Self)] = &[
        ("region-calm", Self::Calm),
        ("region-lossy", Self::Lossy),
        ("region-rough", Self::Rough),
        ("region-late", Self::Late),
        ("region-deaths", Self::Deaths),
        ("region-crashes", Self::Crashes),
        ("region-cuts", Self::Cuts),
        ("region-pauses", Self::Pauses),
        ("region-takeovers", Self::Takeovers),
        ("region-all", Self::All),
        ("region-crowd", Self::Crowd),
        ("region-multitude", Self::Multitude),
    ];
}

/// Something that happens to hosts or members.
#[derive(Debug, Clone)]
pub enum Upset {
    /// A host gets the region, with those of its members who are nowhere.
    Start(usize),
    /// It ends with all its processes.
    Crash(usize),
    /// A member's process ends,
    End(u16),
    /// and another comes as that member, on a host.
    Join(u16, usize),
    /// These hosts cannot hear the others.
    Cut(Vec<usize>),
    /// They can again.
    Mend,
    /// The process that keeps a host's region ends.
    Takeover(usize),
    /// A host stops,
    Stop(usize),
    /// and goes on.
    GoOn(usize),
}

/// Whether the network has IP multicast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// It has not.
    None,
    /// What is sent to all reaches all,
    All,
    /// but those of an odd number,
    Some,
    /// or all for half a second, then nobody for as long, and so on.
    Sometimes,
}

/// A world to come.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What it was made from.
    pub seed: u64,
    /// How many hosts.
    pub hosts: usize,
    /// The region.
    pub geometry: Geometry,
    /// To how many a host sends by itself.
    pub fan_out: usize,
    /// Packets to all at once.
    pub group: Group,
    /// On all links.
    pub faults: Faults,
    /// What happens, and when.
    pub upsets: Vec<(u64, Upset)>,
    /// For so long members write,
    pub writing_ns: u64,
    /// each after a pause of at most so long.
    pub pause_ns: u64,
    /// Members write into the partitions of others too: not where hosts are cut off for long, for then that may get lost.
    pub writes_anywhere: bool,
}

impl Plan {
    /// The plan of that seed.
    pub fn new(kind: Kind, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let hosts = match kind {
            Kind::Crowd => 40,
            Kind::Multitude => 256,
            _ => random.between(2, 9) as usize,
        };
        let members = match kind {
            Kind::Crowd | Kind::Multitude => hosts as u64,
            _ => random.between(1, 12),
        } as u16;
        let region_bytes = match kind {
            Kind::Crowd | Kind::Multitude => u64::from(members) * 256,
            _ => random.between(u64::from(members), 20_000) * 8,
        };
        let log_bytes = match kind {
            Kind::Multitude => 4096,
            _ => *random.pick(&[4096, 16 << 10, 64 << 10]),
        };
        let faults = match kind {
            Kind::Lossy | Kind::Crowd => Faults::loss(Rate::percent(5)),
            Kind::Rough => Faults::all(Rate::percent(10), 200_000),
            Kind::All | Kind::Takeovers => Faults::all(Rate::percent(2), 200_000),
            Kind::Multitude => Faults::loss(Rate::percent(1)),
            _ => Faults::default(),
        };
        let mut plan = Self {
            seed,
            hosts,
            geometry: Geometry {
                members,
                region_bytes,
                log_bytes,
            },
            fan_out: match kind {
                Kind::Crowd => 4,
                Kind::Multitude => 16,
                _ => *random.pick(&[1, 2, 16]),
            },
            // By another generator: the rest of the plan does not depend on it.
            group: *Random::new(!seed).pick(&[
                Group::None,
                Group::All,
                Group::Some,
                Group::Sometimes,
            ]),
            faults,
            upsets: Vec::new(),
            writing_ns: match kind {
                Kind::Multitude => 200 * MS,
                Kind::Crowd => 500 * MS,
                Kind::Calm | Kind::Lossy | Kind::Rough => 2 * S,
                _ => 15 * S,
            },
            pause_ns: match kind {
                Kind::Multitude => 100 * MS,
                _ => *random.pick(&[200_000, 2 * MS, 50 * MS]),
            },
            writes_anywhere: !matches!(kind, Kind::Cuts | Kind::Pauses | Kind::All),
        };
        plan.fill(kind, &mut random);
        plan.upsets.sort_by_key(|(at_ns, _)| *at_ns);
        plan
    }

    /// Whom packets to all reach at that time.
    pub fn hearers(&self, now_ns: u64) -> impl Iterator<Item = usize> + use<> {
        let group = self.group;
        (0..self.hosts).filter(move |host| match group {
            Group::None => false,
            Group::All => true,
            Group::Some => host.is_multiple_of(2),
            Group::Sometimes => (now_ns / (500 * MS)).is_multiple_of(2),
        })
    }

    /// Hosts go on, hear each other, and are kept by the same processes.
    pub fn only_processes_end(&self) -> bool {
        let is_of_a_process =
            |upset: &Upset| matches!(upset, Upset::Start(_) | Upset::End(_) | Upset::Join(..));
        self.upsets.iter().all(|(_, upset)| is_of_a_process(upset))
    }

    fn fill(&mut self, kind: Kind, random: &mut Random) {
        let end_ns = self.writing_ns;
        let is_all = kind == Kind::All;
        for host in 0..self.hosts {
            let at_ns = match kind {
                Kind::Late | Kind::All if host > 0 => random.below(end_ns / 2),
                _ => random.below(20 * MS),
            };
            self.upsets.push((at_ns, Upset::Start(host)));
        }
        if kind == Kind::Deaths || is_all {
            for _ in 0..random.between(1, 8) {
                let member = random.below(self.geometry.members.into()) as u16;
                let at_ns = random.below(end_ns);
                self.upsets.push((at_ns, Upset::End(member)));
                let host = random.index(self.hosts);
                let again_ns = at_ns + random.below(4 * S);
                self.upsets.push((again_ns, Upset::Join(member, host)));
            }
        }
        if kind == Kind::Crashes || is_all {
            for _ in 0..random.between(1, 5) {
                let host = random.index(self.hosts);
                let at_ns = random.below(end_ns);
                self.upsets.push((at_ns, Upset::Crash(host)));
                let again_ns = at_ns + random.below(6 * S);
                self.upsets.push((again_ns, Upset::Start(host)));
            }
        }
        if kind == Kind::Cuts || is_all {
            for _ in 0..random.between(1, 3) {
                let some = (0..self.hosts).filter(|_| random.one_in(2)).collect();
                let at_ns = random.below(end_ns);
                self.upsets.push((at_ns, Upset::Cut(some)));
                let longest = *random.pick(&[50 * MS, S, 7 * S]);
                let mended_ns = at_ns + random.below(longest);
                self.upsets.push((mended_ns, Upset::Mend));
            }
        }
        if kind == Kind::Pauses || is_all {
            for _ in 0..random.between(1, 4) {
                let host = random.index(self.hosts);
                let at_ns = random.below(end_ns);
                self.upsets.push((at_ns, Upset::Stop(host)));
                let longest = *random.pick(&[50 * MS, S, 7 * S]);
                let on_ns = at_ns + random.below(longest);
                self.upsets.push((on_ns, Upset::GoOn(host)));
            }
        }
        if kind == Kind::Takeovers || is_all {
            for _ in 0..random.between(1, 12) {
                let host = random.index(self.hosts);
                self.upsets
                    .push((random.below(end_ns), Upset::Takeover(host)));
            }
        }
    }
}
