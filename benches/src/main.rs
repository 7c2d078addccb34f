//! `bcl-bench`: BCL, the limits of the machine and the peers, measured in turn in one run.
//!
//! From the top: [`work`] says what is measured and which mark it has to meet, [`rounds`] takes
//! everyone in turn, [`stand`] asks each [`subject`] for its figure ([`ours`], [`peers`], [`limits`]),
//! [`verdict`] compares, [`report`] writes it down.

mod arguments;
mod batches;
mod command;
mod cores;
mod effort;
mod error;
mod figure;
mod limits;
mod machine;
mod ours;
mod payload;
mod peers;
mod placement;
mod report;
mod results;
mod rounds;
mod site;
mod stand;
mod stats;
mod subject;
mod suite;
mod verdict;
mod watchdog;
mod work;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command, Options};
use effort::Effort;
use error::{Error, Result, system};
use machine::Machine;
use report::{json, markdown, picture};
use results::Results;
use stand::Stand;
use suite::Suite;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Some(command) => run_part(command),
        None => run_suite(&suite::BCL, &arguments.options, None),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bcl-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_part(command: Command) -> Result<()> {
    match command {
        Command::Mpi { options, libraries } => run_suite(&suite::MPI, &options, Some(&libraries)),
        Command::Limits { json } => limits::table::print(json),
        Command::Rank(arguments) => ours::rank::run(&arguments),
        Command::VmReader {
            size_bytes,
            iterations,
            source_core,
        } => limits::vm_readv::read(size_bytes, iterations, source_core),
        Command::VmSource { size_bytes } => limits::vm_readv::serve(size_bytes),
    }
}

fn run_suite(suite: &Suite, options: &Options, libraries: Option<&Path>) -> Result<()> {
    let works = suite.works(&options.only)?;
    if options.list {
        for work in works {
            println!("{:<30} {} ({})", work.name, work.title, work.unit);
        }
        return Ok(());
    }
    let stand = Stand::build(
        &options.out.join("programs"),
        libraries,
        Effort::new(options.quick),
    )?;
    let rounds = usize::from(options.rounds);
    let machine = Machine::look(stand.cores, rounds, libraries);
    let results = rounds::run(&stand, &works, rounds)?;
    write_reports(suite, options, &results, &machine)?;
    all_of_ours_measured(&results)
}

fn write_reports(
    suite: &Suite,
    options: &Options,
    results: &Results,
    machine: &Machine,
) -> Result<()> {
    let path = |ending| options.out.join(suite.files).with_extension(ending);
    let report = markdown::render(results, machine, suite);
    let rows = json::render(results).map_err(system("write", path("json").display()))?;
    for (ending, text) in [("md", &report), ("json", &rows)] {
        fs::write(path(ending), text).map_err(system("write", path(ending).display()))?;
    }
    picture::draw(results, &path("svg"))?;
    println!("{}", if options.json { &rows } else { &report });
    Ok(())
}

/// A missed mark is a result, a figure of ours that is not there is a failure.
fn all_of_ours_measured(results: &Results) -> Result<()> {
    let failed = results
        .figures
        .iter()
        .find(|figures| figures.subject.is_ours() && figures.runs.is_empty());
    failed.map_or(Ok(()), |figures| {
        Err(Error::NotMeasured {
            work: figures.work.name,
            reason: figures.failure.clone().unwrap_or_default(),
        })
    })
}
