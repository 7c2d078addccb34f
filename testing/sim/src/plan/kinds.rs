//! The kinds of worlds.

use bcl_types::Random;

use crate::net::{Bursts, Faults, HostSpec, LinkSpec, Rate};

use super::upsets::{Theme, Upset, episode, in_order};
use super::{Mix, Plan, Traffic};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// Each kind with a word about it.
pub const KINDS: &[(&str, &str)] = &[
    ("calm", "no faults at all: nothing may fail"),
    (
        "lossy",
        "loss, bursts, copies, overtaking and damage, each up to 10 %",
    ),
    ("rough", "up to 30 % of every fault at once"),
    ("shared", "a slow link with a short queue, shared by all"),
    (
        "full",
        "receivers that are slow, hold what they got and post late",
    ),
    ("deaths", "processes are killed, closed, restarted"),
    (
        "cuts",
        "partitions, pulled cables and stopped processes, shorter and longer than patience",
    ),
    ("moves", "hosts get other addresses"),
    ("strangers", "somebody replays, forges and damages packets"),
    ("jobs", "two jobs with different keys on the same hosts"),
    ("windows", "one-sided access only, with faults and deaths"),
    (
        "lengths",
        "paths that take less than the hosts think, now more, now less",
    ),
    (
        "regrets",
        "programs want messages back, whatever has become of them",
    ),
    ("mixed", "all of it at once"),
];

pub(super) fn plan(kind: &str, seed: u64) -> Option<Plan> {
    let (kind, _) = KINDS.iter().find(|(known, _)| *known == kind)?;
    let mut random = Random::new(seed);
    let mut plan = calm(kind, seed, &mut random);
    let random = &mut random;
    match *kind {
        "lossy" => plan.uplink.faults = weather(random, 10),
        "rough" => rough(&mut plan, random),
        "shared" => shared(&mut plan, random),
        "full" => full(&mut plan, random),
        "deaths" => upsets(&mut plan, random, &[Theme::Death, Theme::Close]),
        "cuts" => upsets(
            &mut plan,
            random,
            &[Theme::Partition, Theme::Cable, Theme::Pause],
        ),
        "moves" => moves(&mut plan, random),
        "strangers" => strangers(&mut plan, random),
        "jobs" => plan.two_jobs = true,
        "windows" => windows(&mut plan, random),
        "lengths" => lengths(&mut plan, random),
        "regrets" => regrets(&mut plan, random),
        "mixed" => mixed(&mut plan, random),
        _ => {}
    }
    Some(plan)
}

fn calm(kind: &'static str, seed: u64, random: &mut Random) -> Plan {
    let link = LinkSpec {
        bits_per_second: *random.pick(&[1, 10, 25]) * 1_000_000_000,
        propagation_ns: random.between(1, 50) * US,
        ..LinkSpec::GOOD
    };
    Plan {
        kind,
        seed,
        seats: random.between(2, 6) as usize,
        silent_peers: 0,
        host: HostSpec::GOOD,
        uplink: link,
        downlink: LinkSpec {
            bits_per_second: link.bits_per_second / *random.pick(&[1, 1, 1, 10]),
            propagation_ns: link.propagation_ns * *random.pick(&[1, 1, 1, 20]),
            ..link
        },
        datagram_bytes: 1472,
        trunk: None,
        traffic: Traffic {
            operations: random.between(10, 60) as u32,
            gap_ns: *random.pick(&[1, 10, 100]) * US,
            most_pending: random.between(1, 64) as usize,
            mix: Mix::ALL,
            shortest_bytes: 0,
            longest_bytes: *random.pick(&[100, 8 << 10, 64 << 10, 300 << 10]),
            channels: random.between(1, 4) as u16,
            late_post_ns: *random.pick(&[0, 10, 1_000]) * US,
            hold_ns: *random.pick(&[0, 10, 500]) * US,
            nap_ns: 0,
            all_to_one: random.one_in(5),
            to_itself: false,
            cancels: false,
        },
        upsets: Vec::new(),
        stranger_gap_ns: None,
        two_jobs: false,
        interfaces: false,
        own_keys: false,
        tagged: None,
        one_sided: false,
        dead_after_ns: 3 * S,
    }
}

/// Every kind of fault, each at a rate of its own up to `most_percent`.
fn weather(random: &mut Random, most_percent: u64) -> Faults {
    let mut rate = || match random.below(3) {
        0 => Rate::NEVER,
        _ => Rate::per_million(random.between(1, most_percent * 10_000) as u32),
    };
    let mut faults = Faults {
        loss: rate(),
        duplicate: rate(),
        corrupt: rate(),
        truncate: rate(),
        reorder: rate(),
        ..Faults::default()
    };
    faults.reorder_by_ns = random.between(1, 500) * US;
    faults.jitter_ns = random.below(200) * US;
    faults.bursts = random.one_in(3).then(|| Bursts {
        begin: Rate::per_million(random.between(100, 10_000) as u32),
        longest_ns: random.between(10, 5_000) * US,
    });
    faults
}

fn rough(plan: &mut Plan, random: &mut Random) {
    let rate = Rate::percent(random.between(15, 30) as u32);
    plan.uplink.faults = Faults::all(rate, random.between(1, 300) * US);
    plan.traffic.operations = plan.traffic.operations.min(25);
    plan.traffic.longest_bytes = plan.traffic.longest_bytes.min(64 << 10);
    // One packet in nine makes it there and back; silence for 3 s is not death here.
    plan.dead_after_ns = 60 * S;
}

fn shared(plan: &mut Plan, random: &mut Random) {
    plan.trunk = Some(LinkSpec {
        bits_per_second: *random.pick(&[10, 100, 1_000]) * 1_000_000,
        propagation_ns: random.between(1, 2_000) * US,
        queue_bytes: *random.pick(&[8, 32, 128]) << 10,
        ..LinkSpec::GOOD
    });
    plan.seats = random.between(4, 10) as usize;
    plan.traffic.operations = plan.traffic.operations.min(30);
    plan.traffic.longest_bytes = plan.traffic.longest_bytes.min(64 << 10);
}

fn full(plan: &mut Plan, random: &mut Random) {
    plan.host = HostSpec {
        inbox_bytes: *random.pick(&[8, 32, 208]) << 10,
        per_datagram_ns: *random.pick(&[500, 5_000, 50_000]),
    };
    plan.traffic.hold_ns = random.between(1, 50) * MS;
    plan.traffic.late_post_ns = random.between(1, 50) * MS;
    plan.traffic.nap_ns = *random.pick(&[0, MS, 20 * MS]);
    plan.traffic.gap_ns = US;
    plan.traffic.most_pending = 64;
    plan.traffic.all_to_one = random.one_in(2);
}

fn upsets(plan: &mut Plan, random: &mut Random, themes: &[Theme]) {
    plan.traffic.shortest_bytes = 8;
    plan.traffic.gap_ns = *random.pick(&[100, 1_000, 20_000]) * US;
    let until_ns = (plan.traffic.gap_ns * u64::from(plan.traffic.operations)).max(MS);
    let longest_ns = *random.pick(&[MS, 100 * MS, 2 * S, 8 * S]);
    let episodes = (0..random.between(1, 4)).map(|_| {
        let theme = *random.pick(themes);
        episode(random, theme, plan.seats, until_ns, longest_ns)
    });
    plan.upsets = in_order(episodes.collect::<Vec<_>>());
}

fn moves(plan: &mut Plan, random: &mut Random) {
    upsets(plan, random, &[Theme::Pause]);
    for (_, upset) in &mut plan.upsets {
        if let Upset::Stop(host) | Upset::Continue(host) = *upset {
            *upset = Upset::Readdress(host);
        }
    }
}

fn strangers(plan: &mut Plan, random: &mut Random) {
    plan.stranger_gap_ns = Some(random.between(20, 500) * US);
    if random.one_in(2) {
        upsets(plan, random, &[Theme::Death, Theme::Close]);
        plan.stranger_gap_ns = Some(random.between(1, 10) * MS);
    }
}

fn windows(plan: &mut Plan, random: &mut Random) {
    plan.traffic.mix = Mix::WINDOWS;
    plan.uplink.faults = weather(random, 10);
    if random.one_in(2) {
        upsets(plan, random, &[Theme::Death, Theme::Cable, Theme::Pause]);
    }
}

fn lengths(plan: &mut Plan, random: &mut Random) {
    plan.datagram_bytes = *random.pick(&[1472, 4_000, 8_960, 8_960]);
    if random.one_in(3) {
        plan.uplink.longest_bytes = random.between(508, 8_960) as usize;
    }
    if random.one_in(2) {
        plan.uplink.faults = weather(random, 5);
    }
    let themes: &[Theme] = match random.below(3) {
        0 => &[Theme::Length, Theme::Cable, Theme::Pause],
        _ => &[Theme::Length],
    };
    upsets(plan, random, themes);
}

/// Messages wait in all places: for a connection, for room, for a buffer, for what was lost.
fn regrets(plan: &mut Plan, random: &mut Random) {
    if random.one_in(2) {
        upsets(plan, random, &[Theme::Death, Theme::Cable, Theme::Pause]);
    }
    full(plan, random);
    plan.uplink.faults = weather(random, 10);
    // Slower than connections are made, or nothing would have begun when it is wanted back.
    plan.traffic.gap_ns = *random.pick(&[10, 100, 1_000]) * US;
    plan.traffic.operations *= 3;
    plan.traffic.mix.normal = 30;
    plan.traffic.cancels = true;
    // By its contents the oracle tells a message from one that was canceled.
    plan.traffic.shortest_bytes = 8;
}

fn mixed(plan: &mut Plan, random: &mut Random) {
    if random.one_in(2) {
        shared(plan, random);
    }
    if random.one_in(3) {
        full(plan, random);
    }
    plan.uplink.faults = weather(random, 5);
    let themes = [
        Theme::Partition,
        Theme::Cable,
        Theme::Pause,
        Theme::Death,
        Theme::Close,
        Theme::Slowness,
    ];
    upsets(plan, random, &themes);
    if random.one_in(2) {
        plan.stranger_gap_ns = Some(random.between(1, 10) * MS);
    }
    plan.two_jobs = random.one_in(8);
}
