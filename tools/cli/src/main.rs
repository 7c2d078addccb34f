//! The command `bcl`: measures, shows and starts programs that use BCL.

mod agent_stat;
mod cores;
mod doctor;
mod failure;
mod generate;
mod info;
mod interrupt;
mod mpi;
mod output;
mod peer;
mod perf;
mod reflect;
mod run;
mod size;
mod spawn;
mod stat;
mod trace;
mod transfer;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Result;

/// Basic Communication Library: measures, shows and starts programs that use it.
#[derive(Debug, Parser)]
#[command(name = "bcl", version, max_term_width = 100, after_long_help = peer::NODES_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Perf(perf::Arguments),
    Info(info::Arguments),
    Doctor(doctor::Arguments),
    Stat(stat::Arguments),
    Trace(trace::Arguments),
    Reflect(reflect::Arguments),
    Run(run::Arguments),
    /// The helper that `bcl run` starts on a host.
    #[command(hide = true)]
    RunRemote,
    MpiEnv(mpi::Arguments),
    /// The process that `bcl doctor --mpi` starts.
    #[command(hide = true)]
    MpiProbe(mpi::probe::Arguments),
    Send(transfer::send::Arguments),
    Recv(transfer::recv::Arguments),
    Completions(generate::Completions),
    #[command(hide = true)]
    Man(generate::Manual),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match execute(arguments.command) {
        Ok(status) => status,
        Err(failure) => {
            interrupt::wait_if_ending();
            if !failure.text.is_empty() {
                eprintln!("bcl: {}", failure.text);
            }
            ExitCode::from(failure.status)
        }
    }
}

fn execute(command: Command) -> Result<ExitCode> {
    // The launcher passes signals on instead of ending by them, and those of an MPI process are the MPI library's.
    if !matches!(
        command,
        Command::Run(_) | Command::RunRemote | Command::MpiProbe(_)
    ) {
        interrupt::exit_tidily_on_signals()?;
    }
    match command {
        Command::Run(arguments) => return run::run(&arguments),
        Command::Doctor(arguments) => return doctor::run(&arguments),
        Command::RunRemote => return run::serve(),
        Command::Perf(arguments) => perf::run(arguments)?,
        Command::MpiProbe(arguments) => mpi::probe::run(&arguments)?,
        Command::MpiEnv(arguments) => mpi::run(&arguments)?,
        Command::Send(arguments) => transfer::send::run(&arguments)?,
        Command::Recv(arguments) => transfer::recv::run(&arguments)?,
        Command::Completions(arguments) => generate::completions(&arguments)?,
        Command::Man(arguments) => generate::manual(&arguments)?,
        Command::Info(arguments) => info::run(&arguments)?,
        Command::Stat(arguments) => stat::run(&arguments)?,
        Command::Trace(arguments) => trace::run(&arguments)?,
        Command::Reflect(arguments) => reflect::run(&arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}
