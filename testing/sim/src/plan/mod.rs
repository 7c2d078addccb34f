//! What is going to happen in a world, decided from its seed before it begins.

mod kinds;
mod upsets;

use bcl_types::Random;

use crate::net::{HostSpec, LinkSpec};

pub use kinds::KINDS;
pub use upsets::Upset;

/// A world before it begins.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What kind of world it is.
    pub kind: &'static str,
    /// From which all chance in it comes.
    pub seed: u64,
    /// How many ports there are, each on a host of its own.
    pub seats: usize,
    /// How many more ports everybody knows of, of which nothing is ever heard.
    pub silent_peers: usize,
    /// What each host can do.
    pub host: HostSpec,
    /// What each host's link to its switch can do.
    pub uplink: LinkSpec,
    /// What the link back can do.
    pub downlink: LinkSpec,
    /// The longest datagram that the hosts' network cards take. What lies between may take less.
    pub datagram_bytes: u16,
    /// If there are two sites (seats with even and with odd numbers): the link from each to the other.
    pub trunk: Option<LinkSpec>,
    /// What programs do.
    pub traffic: Traffic,
    /// What befalls hosts and links, and when. The last leaves everything whole.
    pub upsets: Vec<(u64, Upset)>,
    /// How often a stranger sends something, if there is one.
    pub stranger_gap_ns: Option<u64>,
    /// Whether seats with odd numbers belong to another job.
    pub two_jobs: bool,
    /// Whether hosts have an interface program in front of their ports, each by its seed.
    pub interfaces: bool,
    /// Whether each process has a key of its own, which all others of its job are told.
    pub own_keys: bool,
    /// What programs do that exchange tagged messages, in the place of those that use ports themselves.
    pub tagged: Option<Traffic>,
    /// Whether programs with tagged messages reach for each other's memory as well.
    pub one_sided: bool,
    /// After how long a silent peer is taken for dead.
    pub dead_after_ns: u64,
}

/// What the programs of a world do. Each draws its own operations.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// How many operations each program starts.
    pub operations: u32,
    /// The mean time between two of them.
    pub gap_ns: u64,
    /// How many a program has under way at most.
    pub most_pending: usize,
    /// Which operations, by weight.
    pub mix: Mix,
    /// No message is shorter.
    pub shortest_bytes: usize,
    /// No message on a normal channel is longer.
    pub longest_bytes: usize,
    /// How many normal channels are in use.
    pub channels: u16,
    /// How long a program lets a message wait for its post, at most; 0: all posts are there before.
    pub late_post_ns: u64,
    /// How long a program holds a system message before it releases it, at most.
    pub hold_ns: u64,
    /// How long a program computes before it looks what it was told, at most; 0: it looks at once.
    pub nap_ns: u64,
    /// Whether everybody talks to seat 0 only.
    pub all_to_one: bool,
    /// Whether programs that exchange tagged messages have some for themselves.
    pub to_itself: bool,
    /// Whether programs want messages back that they have sent.
    pub cancels: bool,
}

/// How often each kind of operation is drawn, relative to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix {
    /// System messages.
    pub system: u32,
    /// Messages on normal channels.
    pub normal: u32,
    /// Messages that may be lost.
    pub unreliable: u32,
    /// Puts into the peer's window.
    pub put: u32,
    /// Gets from it.
    pub get: u32,
    /// Fetch-and-add and compare-and-swap.
    pub atomic: u32,
}

/// What a program does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Sends a system message.
    System,
    /// Sends a message on a normal channel.
    Normal,
    /// Sends a message that may be lost.
    Unreliable,
    /// Writes into the peer's window.
    Put,
    /// Reads from it.
    Get,
    /// Adds to a word of it.
    Add,
    /// Compares and swaps a word of it.
    Swap,
}

impl Mix {
    /// A bit of everything.
    pub const ALL: Self = Self {
        system: 6,
        normal: 6,
        unreliable: 2,
        put: 2,
        get: 2,
        atomic: 3,
    };

    /// Nothing, to begin with.
    pub const NOTHING: Self = Self {
        system: 0,
        normal: 0,
        unreliable: 0,
        put: 0,
        get: 0,
        atomic: 0,
    };

    /// System messages only.
    pub const SYSTEM: Self = Self {
        system: 1,
        ..Self::NOTHING
    };

    /// Messages on normal channels only.
    pub const NORMAL: Self = Self {
        normal: 1,
        ..Self::NOTHING
    };

    /// One-sided access only.
    pub const WINDOWS: Self = Self {
        system: 0,
        normal: 0,
        unreliable: 0,
        ..Self::ALL
    };

    /// Draws one.
    pub fn draw(&self, random: &mut Random) -> Choice {
        let weighted = [
            (self.system, Choice::System),
            (self.normal, Choice::Normal),
            (self.unreliable, Choice::Unreliable),
            (self.put, Choice::Put),
            (self.get, Choice::Get),
            (self.atomic, Choice::Add),
            (self.atomic, Choice::Swap),
        ];
        let total: u32 = weighted.iter().map(|(weight, _)| weight).sum();
        let mut drawn = random.below(u64::from(total)) as u32;
        for (weight, choice) in weighted {
            if drawn < weight {
                return choice;
            }
            drawn -= weight;
        }
        Choice::System
    }
}

impl Plan {
    /// The world of this kind and seed, or `None` if there is no such kind.
    pub fn new(kind: &str, seed: u64) -> Option<Self> {
        kinds::plan(kind, seed)
    }

    /// The same with interface programs.
    pub fn with_interfaces(mut self) -> Self {
        self.interfaces = true;
        self
    }

    /// The same with a key for each process.
    pub fn with_own_keys(mut self) -> Self {
        self.own_keys = true;
        self
    }

    /// The same with programs that exchange tagged messages, as often and as long ones.
    pub fn with_tagged(mut self) -> Self {
        self.tagged = Some(Traffic {
            // The ends of a connection with itself that is lost come one after the other.
            to_itself: !self.may_lose_peers(),
            ..self.traffic.clone()
        });
        self.traffic.operations = 0;
        // They give buffers by name.
        self.traffic.late_post_ns = 1;
        self
    }

    /// The same, and the world asks for one-sided operations besides.
    pub fn with_one_sided(self) -> Self {
        let operations = self.traffic.operations;
        let mut plan = self.with_tagged();
        plan.one_sided = true;
        plan.traffic.operations = operations;
        plan.traffic.mix = Mix {
            put: 2,
            get: 2,
            atomic: 1,
            system: 0,
            normal: 0,
            unreliable: 0,
        };
        plan
    }

    /// Whether a peer may be taken for dead: because it is, or because it cannot be reached for too long.
    pub fn may_lose_peers(&self) -> bool {
        let mut broken_ns = 0;
        for pair in self.upsets.chunks(2) {
            if let [(from_ns, upset), (to_ns, _)] = pair {
                if upset.takes_lives() {
                    return true;
                }
                if upset.silences() {
                    broken_ns += to_ns - from_ns;
                }
            }
        }
        broken_ns > self.dead_after_ns / 2
    }

    /// When the last upset is over.
    pub fn whole_from_ns(&self) -> u64 {
        self.upsets.last().map_or(0, |(at_ns, _)| *at_ns)
    }
}

#[test]
fn all_kinds_can_be_planned_and_end_whole() {
    for (kind, _) in KINDS {
        for seed in 0..50 {
            let plan = Plan::new(kind, seed).expect("it is in the list");
            assert!(plan.upsets.is_sorted_by_key(|(at_ns, _)| *at_ns), "{kind}");
            assert!(plan.seats >= 2, "{kind}");
        }
    }
    assert!(Plan::new("no such kind", 0).is_none());
}
