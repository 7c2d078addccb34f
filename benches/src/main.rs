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
mod report;
mod results;
mod rounds;
mod site;
mod stand;
mod stats;
mod subject;
mod verdict;
mod watchdog;
mod work;

use std::fs;
use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use effort::Effort;
use error::{Error, Result, system};
use machine::Machine;
use report::{json, markdown, picture};
use results::Results;
use stand::Stand;
use subject::Subject;
use work::Work;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Some(command) => run_part(command),
        None if arguments.list => {
            list();
            Ok(())
        }
        None => run_benchmark(&arguments),
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

fn list() {
    for work in work::all() {
        println!("{:<18} {} ({})", work.name, work.title, work.unit);
    }
}

fn run_benchmark(arguments: &Arguments) -> Result<()> {
    let works: Vec<&'static Work> = if arguments.only.is_empty() {
        work::all().collect()
    } else {
        arguments.only.clone()
    };
    let stand = Stand::build(
        &arguments.out.join("programs"),
        Effort::new(arguments.quick),
    )?;
    let rounds = usize::from(arguments.rounds);
    let machine = Machine::look(stand.cores, rounds);
    let results = rounds::run(&stand, &works, rounds);
    write_reports(arguments, &results, &machine)?;
    all_of_ours_measured(&results)
}

fn write_reports(arguments: &Arguments, results: &Results, machine: &Machine) -> Result<()> {
    let report = markdown::render(results, machine);
    let rows = json::render(results).map_err(system("write", "results.json"))?;
    for (name, text) in [("results.md", &report), ("results.json", &rows)] {
        let path = arguments.out.join(name);
        fs::write(&path, text).map_err(system("write", path.display()))?;
    }
    picture::draw(results, &arguments.out.join("results.svg"))?;
    println!("{}", if arguments.json { &rows } else { &report });
    Ok(())
}

/// A missed mark is a result, a figure of ours that is not there is a failure.
fn all_of_ours_measured(results: &Results) -> Result<()> {
    let failed = results
        .figures
        .iter()
        .find(|figures| figures.subject == Subject::Bcl && figures.runs.is_empty());
    failed.map_or(Ok(()), |figures| {
        Err(Error::NotMeasured {
            work: figures.work.name,
            reason: figures.failure.clone().unwrap_or_default(),
        })
    })
}
