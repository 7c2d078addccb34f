//! How much gets through, as a text that a reviewer sees change: virtual time makes it exact.

mod snapshot;

use std::fmt::Write;

use bcl_sim::net::{Faults, LinkSpec, Rate};
use bcl_sim::{Goodput, Mix, SimPort, Streams};

const MS: u64 = 1_000_000;

/// 10 Gbit/s everywhere, 5 us a link, 256 KiB before each.
const STREAMS: Streams = Streams {
    senders: 1,
    uplink: LinkSpec::GOOD,
    downlink: LinkSpec::GOOD,
    message_bytes: 256 << 10,
    most_pending: 4,
    mix: Mix::NORMAL,
    interfaces: false,
};

const SEED: u64 = 1;
/// Of this seed the receiver is one that has an interface program where there are any, which keeps streams.
const SEED_OF_INTERFACES: u64 = 17;

fn measure(streams: Streams, seed: u64, warm_up_ms: u64, span_ms: u64) -> Goodput {
    let measured = streams.measure::<SimPort>(seed, warm_up_ms * MS, span_ms * MS);
    measured.unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn with_loss(per_million: u32) -> Goodput {
    let faults = Faults::loss(Rate::per_million(per_million));
    let uplink = LinkSpec::GOOD.with_faults(faults);
    measure(Streams { uplink, ..STREAMS }, SEED, 20, 100)
}

/// System messages of 1,000 bytes, past an interface program or not.
fn short_with(faults: Faults, interfaces: bool) -> Goodput {
    let streams = Streams {
        uplink: LinkSpec::GOOD.with_faults(faults),
        message_bytes: 1_000,
        most_pending: 64,
        mix: Mix::SYSTEM,
        interfaces,
        ..STREAMS
    };
    measure(streams, SEED_OF_INTERFACES, 20, 100)
}

fn with_senders(senders: usize) -> Goodput {
    // Many streams need as much longer until each has found its share.
    measure(Streams { senders, ..STREAMS }, SEED, 100, 200)
}

#[test]
fn the_table_is_as_it_was() {
    let mut table = String::from(
        "Goodput over links of 10 Gbit/s and 5 us with 256 KiB before each, messages of 256 KiB.\n\
         After a change that is meant: UPDATE_SNAPSHOT=1 cargo test -p bcl-sim --test throughput\n\n\
         loss, one sender    Mbit/s\n",
    );
    for (name, per_million) in [
        ("0 %", 0),
        ("0.1 %", 1_000),
        ("1 %", 10_000),
        ("5 %", 50_000),
        ("30 %", 300_000),
    ] {
        let mbps = with_loss(per_million).bits_per_second() / 1e6;
        writeln!(table, "{name:<16} {mbps:>9.0}").expect("a string takes it");
    }
    table += "\nmessages of 1,000 bytes, by socket   by interface program\n";
    let out_of_order = |per_million| Faults {
        reorder: Rate::per_million(per_million),
        reorder_by_ns: 20_000,
        ..Faults::default()
    };
    for (name, faults) in [
        ("no faults", Faults::default()),
        ("1 % lost", Faults::loss(Rate::percent(1))),
        ("5 % lost", Faults::loss(Rate::percent(5))),
        ("1 % late", out_of_order(10_000)),
        ("10 % late", out_of_order(100_000)),
    ] {
        let mbps = |interfaces| short_with(faults, interfaces).bits_per_second() / 1e6;
        let (socket, interface) = (mbps(false), mbps(true));
        writeln!(table, "{name:<25} {socket:>9.0} {interface:>12.0}").expect("a string takes it");
    }
    table += "\nsenders, no loss    Mbit/s   fairness (Jain)\n";
    for senders in [1, 10, 100] {
        let goodput = with_senders(senders);
        let mbps = goodput.bits_per_second() / 1e6;
        let fairness = goodput.fairness();
        writeln!(table, "{senders:<16} {mbps:>9.0} {fairness:>11.3}").expect("a string takes it");
    }
    snapshot::compare("throughput.txt", &table);
}

#[test]
fn a_hundred_senders_share_a_receiver() {
    let one = with_senders(1).bits_per_second();
    let hundred = with_senders(100);
    let share = hundred.bits_per_second() / one;
    assert!(share >= 0.8, "{share:.3} of what one sender gets through");
    let fairness = hundred.fairness();
    assert!(fairness > 0.9, "Jain's index is {fairness:.3}");
}
