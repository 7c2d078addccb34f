//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::ours::rank;

/// Measures BCL, the machine's limits and the peers in turn and compares them.
#[derive(Parser)]
#[command(name = "bcl-bench", version, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub options: Options,
}

/// How a run of one suite goes.
#[derive(clap::Args)]
pub struct Options {
    /// Folder for the report, as .md, .svg and .json.
    #[arg(long, value_name = "DIR", default_value = "target/bench")]
    pub out: PathBuf,
    /// How often everyone is measured; the median counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,
    /// Only these works (see --list).
    #[arg(long, value_name = "WORK", value_delimiter = ',')]
    pub only: Vec<String>,
    /// A tenth of the usual effort: to see whether everything works.
    #[arg(long)]
    pub quick: bool,
    /// Prints what can be measured, and measures nothing.
    #[arg(long)]
    pub list: bool,
    /// Prints the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Other measurements, and parts of them.
#[derive(Subcommand)]
pub enum Command {
    /// Measures MPI libraries on BCL, on TCP and on their own shared memory, and BCL without them.
    Mpi {
        #[command(flatten)]
        options: Options,
        /// The folder that testing/mpi/install has filled, with our provider below it.
        #[arg(long, value_name = "DIR", default_value = "target/mpi")]
        libraries: PathBuf,
    },
    /// Measures the machine alone: a cache line between two cores, and copies.
    Limits {
        /// Prints one object a line.
        #[arg(long)]
        json: bool,
    },
    /// One process of a measurement of BCL.
    #[command(hide = true)]
    Rank(rank::Arguments),
    /// Reads the memory of a process that holds some.
    #[command(hide = true)]
    VmReader {
        size_bytes: usize,
        iterations: usize,
        source_core: usize,
    },
    /// Holds memory that another process reads.
    #[command(hide = true)]
    VmSource { size_bytes: usize },
}
