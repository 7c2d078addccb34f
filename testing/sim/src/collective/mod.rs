//! What a broadcast and a barrier of many hosts take, and what they send: over a region, and by messages.
//!
//! All have the same network, and a host that does anything is as busy. Read `crew` (many hosts of one sort at work), then `regions` and
//! `trees` (what hosts of each sort do).

mod crew;
mod regions;
mod trees;

use crew::Crew;

/// Most members of a region.
const MEMBERS_MAX: usize = 256;

/// What hosts do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The first has so many bytes for all others.
    Broadcast(usize),
    /// Nobody goes on before all have come.
    Barrier,
}

/// How they do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By a write into a region, to all at once by IP multicast; for a barrier one hears from all, and writes for all.
    Multicast,
    /// The same without IP multicast, from host to host ([REFLECT-9.2]).
    PassedOn,
    /// By messages along a binomial tree; for a barrier each tells one and hears from one, twice as far away each time.
    Messages,
}

/// In the order of the table.
const WAYS: [Way; 3] = [Way::Multicast, Way::PassedOn, Way::Messages];

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// From the beginning until the last host is done.
    pub ns: u64,
    /// Packets that were sent for it, one to a group counted once, until all were at rest,
    pub packets: u64,
    /// and how many came to hosts.
    pub arrivals: u64,
}

/// What `what` costs so many hosts that have done it before.
///
/// # Errors
/// When it does not come to an end.
pub fn cost(what: What, way: Way, hosts: usize) -> Result<Cost, String> {
    match way {
        Way::Multicast => Crew::new(regions::crew(hosts, what, true)).cost(),
        Way::PassedOn => Crew::new(regions::crew(hosts, what, false)).cost(),
        Way::Messages => Crew::new(trees::crew(hosts, what)).cost(),
    }
}

/// All of it for four times as many hosts each time, up to `most_hosts`.
///
/// # Errors
/// As [`cost`].
pub fn table(most_hosts: usize) -> Result<String, String> {
    let mut table = format!(
        "Links of 10 Gbit/s and 5 us to one switch; a system call that sends takes 1 us and 0.3 us more for each further packet,\n\
         and a packet that comes 0.5 us. Packets sent (one to a group is one) and packets that came, until all are at rest. Medians of nine.\n\n\
         {:<18}{:>6}{:>27}{:>27}{:>27}\n{:<24}",
        "", "hosts", "region, IP multicast", "region, passed on", "messages", ""
    );
    for _ in WAYS {
        table += &format!("{:>9}{:>8}{:>10}", "us", "sent", "came");
    }
    table.push('\n');
    for what in [What::Broadcast(8), What::Broadcast(1024), What::Barrier] {
        let mut hosts = 4;
        while hosts <= most_hosts {
            table += &format!("{:<18}{hosts:>6}", what.to_string());
            for way in WAYS {
                table += &match is_possible(what, way, hosts) {
                    true => cost(what, way, hosts)?.to_string(),
                    false => format!("{:>27}", "-"),
                };
            }
            table.push('\n');
            hosts *= 4;
        }
    }
    Ok(table)
}

/// For a barrier each host has a member.
fn is_possible(what: What, way: Way, hosts: usize) -> bool {
    way == Way::Messages || what != What::Barrier || hosts <= MEMBERS_MAX
}

impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broadcast(len_bytes) => write!(f, "broadcast, {len_bytes} B"),
            Self::Barrier => f.write_str("barrier"),
        }
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            ns,
            packets,
            arrivals,
        } = self;
        let us = *ns as f64 / 1e3;
        write!(f, "{us:>9.1}{packets:>8}{arrivals:>10}")
    }
}
