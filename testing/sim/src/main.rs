//! `bcl-sim`: runs worlds by seed, and shows what happens in them.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bcl_sim::net::{Datagram, Fate};
use bcl_sim::party::Party;
use bcl_sim::{KINDS, Plan, Report, SimPort, TaggedPort, World, Wrong};
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
    #[arg(long, value_parser = PossibleValuesParser::new(KINDS.iter().map(|(kind, _)| *kind)))]
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
    /// Print a time line: what programs ask for and are told, and what becomes of each packet.
    #[arg(long)]
    trace: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
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
            match run_one(kind, seed, &options) {
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

fn kinds(options: &Options) -> impl Iterator<Item = &'static str> {
    let wanted = options.world.clone();
    let all = KINDS.iter().map(|(kind, _)| *kind);
    all.filter(move |kind| wanted.as_ref().is_none_or(|wanted| wanted == kind))
}

fn run_one(kind: &str, seed: u64, options: &Options) -> Result<Report, Box<Wrong>> {
    // The kinds come from the list, so there is a plan for each.
    let Some(mut plan) = Plan::new(kind, seed) else {
        unreachable!("{kind} is in the list of kinds");
    };
    plan.interfaces = options.interfaces;
    plan.own_keys = options.own_keys;
    if options.one_sided {
        return run_plan::<TaggedPort>(plan.with_one_sided(), options.trace);
    }
    if options.tagged {
        return run_plan::<TaggedPort>(plan.with_tagged(), options.trace);
    }
    run_plan::<SimPort>(plan, options.trace)
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
