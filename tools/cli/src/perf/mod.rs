//! `bcl perf`: what processes get out of BCL.

mod agent;
mod arguments;
mod bandwidth;
mod bbp;
mod chart;
mod endpoint;
mod latency;
mod meet;
mod netns;
mod normal;
mod payload;
mod picture;
mod plan;
mod report;
mod rma;
mod rma_owner;
mod statistics;
mod stream;
mod system;
mod traffic;

pub use arguments::Arguments;

use arguments::{Bench, Options, Pair};

use crate::failure::{Failure, Result};
use endpoint::Endpoint;
use meet::Met;
use report::Report;

/// Measures, or is the partner of a process that measures: both follow the same plan.
pub fn run(arguments: Arguments) -> Result<()> {
    let bench = match arguments.bench {
        Bench::Pair(bench) => bench,
        Bench::Bbp(arguments) => return bbp::run(&arguments),
    };
    bench.check()?;
    match bench.options().partner {
        Some(initiator) => {
            let mut end = meet::as_partner(bench.options(), initiator)?;
            assist(&bench, &mut end).map_err(complain)
        }
        None => measure(&bench),
    }
}

fn measure(bench: &Pair) -> Result<()> {
    let options = bench.options();
    // First the partner goes, then the port, then the agent that has opened it.
    let Met {
        there: _there,
        mut end,
        mut partner,
    } = meet::as_initiator(options)?;
    let mut report = Report::begin(bench, &end)?;
    let outcome = match bench {
        Pair::Latency(_) => latency::measure(options, &mut end, &mut report),
        Pair::Bandwidth(_) | Pair::Rate(_) => bandwidth::measure(bench, &mut end, &mut report),
        Pair::Rma(rma) => rma::measure(rma, &mut end, &mut partner, &mut report),
    };
    outcome.map_err(|failure| partner.explain(failure))?;
    drop(partner);
    report.finish(options)
}

fn assist(bench: &Pair, end: &mut Endpoint) -> Result<()> {
    match bench {
        Pair::Latency(options) => latency::assist(options, end),
        Pair::Bandwidth(_) | Pair::Rate(_) => bandwidth::assist(bench, end),
        Pair::Rma(rma) => rma_owner::assist(rma, end),
    }?;
    end.wait_until_alone()
}

/// Says what is wrong while the port is still open: once it closes, the measuring process ends this one.
fn complain(failure: Failure) -> Failure {
    eprintln!("bcl: {} (in the partner process)", failure.text);
    Failure {
        text: String::new(),
        ..failure
    }
}

/// The sizes asked for, or those that show the most of a benchmark.
fn sizes(options: &Options, default: &[usize]) -> Vec<usize> {
    match options.size.is_empty() {
        true => default.to_vec(),
        false => options.size.clone(),
    }
}

/// An event that has no place in the plan.
fn unexpected(event: &bcl::Event) -> Failure {
    Failure::new(format!(
        "the partner process did something that is not part of the measurement: {event:?}"
    ))
}
