//! `bcl-sim`: runs worlds by seed, and shows what happens in them.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bcl_sim::net::{Datagram, Fate};
use bcl_sim::party::Party;
use bcl_sim::{KINDS, Plan, Report, SimPort, TaggedPort, World, Wrong};
use bcl_sim::{collective, region};
use clap::Parser;
use clap::builder::PossibleValuesParser;

/// Runs simulated worlds of BCL ports: the same seed is the same run, packet by packet.
#[derive(Debug, Parser)]
#[command(name = "bcl-sim", version)]
struct Options {
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many seeds to run, one after the other.
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// Go on with the next seeds for so many seconds, whatever --count says.
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Which kind of world; all of them if it is not given.
    #[arg(long, value_parser = PossibleValuesParser::new(all_kinds()))]
    world: Option<String>,
    /// With interface programs in front of some ports.
    #[arg(long)]
    interfaces: bool,
    /// With a key of its own for each process.
    #[arg(long)]
    own_keys: bool,
    /// With programs that exchange tagged messages.
    #[arg(long)]
    tagged: bool,
    /// With such programs that reach for each other's memory as well.
    #[arg(long)]
    one_sided: bool,
    /// Worlds of hosts with a region of reflective memory instead of ports.
    #[arg(long)]
    regions: bool,
    /// Print what broadcasts and barriers of up to so many hosts take and send, over regions and by messages; worlds are left alone. 1,024
    /// hosts take minutes.
    #[arg(long, value_name = "HOSTS", exclusive = true)]
    collectives: Option<usize>,
    /// Print a time line: what programs ask for and are told, and what becomes of each packet.
    #[arg(long)]
    trace: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(most_hosts) = options.collectives {
        return show_collectives(most_hosts);
    }
    let begun = Instant::now();
    let goes_on = |run: u64| match options.seconds {
        Some(seconds) => begun.elapsed() < Duration::from_secs(seconds),
        None => run < options.count,
    };
    let mut worlds = 0_u64;
    let mut wrong = 0_u64;
    for run in (0_u64..).take_while(|run| goes_on(*run)) {
        let seed = options.seed.wrapping_add(run);
        for kind in kinds(&options) {
            worlds += 1;
            let run = match region_kind(kind) {
                Some(kind) => run_region(kind, seed),
                None => run_one(kind, seed, &options),
            };
            match run {
                Ok(report) if options.seconds.is_none() && options.count == 1 => {
                    line(&format!("{kind}, seed {seed}: {report}"));
                }
                Ok(_) => {}
                Err(found) => {
                    wrong += 1;
                    line(&format!("{kind}, seed {seed}: WRONG: {found}"));
                }
            }
        }
    }
    line(&format!(
        "{worlds} worlds, {wrong} wrong, {} s",
        begun.elapsed().as_secs()
    ));
    ExitCode::from(u8::from(wrong > 0))
}

fn show_collectives(most_hosts: usize) -> ExitCode {
    match collective::table(most_hosts) {
        Ok(table) => {
            line(&table);
            ExitCode::SUCCESS
        }
        Err(what) => {
            line(&what);
            ExitCode::FAILURE
        }
    }
}

fn all_kinds() -> impl Iterator<Item = &'static str> {
    let regions = region::Kind::ALL.iter().map(|(kind, _)| *kind);
    KINDS.iter().map(|(kind, _)| *kind).chain(regions)
}

/// The one that is wanted, or all of ports or of regions.
fn kinds(options: &Options) -> impl Iterator<Item = &'static str> {
    let wanted = options.world.clone();
    let regions = options.regions;
    all_kinds().filter(move |kind| match &wanted {
        Some(wanted) => wanted == kind,
        None => region_kind(kind).is_some() == regions,
    })
}

fn region_kind(kind: &str) -> Option<region::Kind> {
    let mut all = region::Kind::ALL.iter();
    all.find(|(name, _)| *name == kind).map(|(_, kind)| *kind)
}

fn run_region(kind: region::Kind, seed: u64) -> Result<String, String> {
    let world = region::World::new(region::Plan::new(kind, seed));
    world.run().map(|outcome| outcome.to_string())
}

fn run_one(kind: &str, seed: u64, options: &Options) -> Result<String, String> {
    // The kinds come from the list, so there is a plan for each.
    let Some(mut plan) = Plan::new(kind, seed) else {
        unreachable!("{kind} is in the list of kinds");
    };
    plan.interfaces = options.interfaces;
    plan.own_keys = options.own_keys;
    if options.one_sided {
        return told(run_plan::<TaggedPort>(plan.with_one_sided(), options.trace));
    }
    if options.tagged {
        return told(run_plan::<TaggedPort>(plan.with_tagged(), options.trace));
    }
    told(run_plan::<SimPort>(plan, options.trace))
}

fn told(run: Result<Report, Box<Wrong>>) -> Result<String, String> {
    run.map(|report| report.to_string())
        .map_err(|wrong| wrong.to_string())
}

fn run_plan<P: Party>(plan: Plan, trace: bool) -> Result<Report, Box<Wrong>> {
    if trace {
        line(&format!("{plan:?}"));
    }
    let mut world = World::<P>::new(plan);
    if trace {
        world.trace(Box::new(stamped));
        let observer = |at_ns, fate, datagram: &Datagram| packet(at_ns, fate, datagram);
        world.network().observe(Box::new(observer));
    }
    world.run()
}

fn packet(at_ns: u64, fate: Fate, datagram: &Datagram) {
    let (from, to) = (datagram.from.ip(), datagram.to.ip());
    let text = SimPort::describe(&datagram.bytes);
    stamped(at_ns, &format!("    {fate:<12} {from} > {to}  {text}"));
}

fn stamped(at_ns: u64, text: &str) {
    line(&format!(
        "{:>9}.{:03} us  {text}",
        at_ns / 1_000,
        at_ns % 1_000
    ));
}

/// Prints a line; whoever reads may have seen enough.
fn line(text: &str) {
    if writeln!(std::io::stdout(), "{text}").is_err() {
        std::process::exit(0);
    }
}
