//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::ours::rank;
use crate::work::{self, Work};

/// Measures BCL, the machine's limits and the peers in turn and compares them.
#[derive(Parser)]
#[command(name = "bcl-bench", version, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Folder for results.md, results.svg and results.json.
    #[arg(long, value_name = "DIR", default_value = "target/bench")]
    pub out: PathBuf,
    /// How often everyone is measured; the median counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,
    /// Only these works (see --list).
    #[arg(long, value_name = "WORK", value_delimiter = ',', value_parser = work::parse)]
    pub only: Vec<&'static Work>,
    /// A tenth of the usual effort: to see whether everything works.
    #[arg(long)]
    pub quick: bool,
    /// Prints what can be measured, and measures nothing.
    #[arg(long)]
    pub list: bool,
    /// Prints results.json instead of results.md.
    #[arg(long)]
    pub json: bool,
}

/// Parts of a measurement.
#[derive(Subcommand)]
pub enum Command {
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
