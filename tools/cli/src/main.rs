//! The command `bcl`: measures, shows and starts programs that use BCL.

mod cores;
mod failure;
mod info;
mod interrupt;
mod output;
mod perf;
mod size;
mod spawn;
mod stat;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Result;

/// Basic Communication Library: measures, shows and starts programs that use it.
#[derive(Debug, Parser)]
#[command(name = "bcl", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Perf(perf::Arguments),
    Info(info::Arguments),
    Stat(stat::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.command) {
        Ok(status) => status,
        Err(failure) => {
            if !failure.text.is_empty() {
                eprintln!("bcl: {}", failure.text);
            }
            ExitCode::from(failure.status)
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    interrupt::exit_tidily_on_signals()?;
    match command {
        Command::Perf(arguments) => perf::run(arguments)?,
        Command::Info(arguments) => info::run(&arguments)?,
        Command::Stat(arguments) => stat::run(&arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}
