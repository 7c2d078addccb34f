//! What `bcl perf bbp` can be told.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use super::report::What;
use crate::failure::{Failure, Result};
use crate::perf::arguments::Hosts;
use crate::size;

/// Lengths of messages, if none are said: those of the paper's figures.
const SIZES: [usize; 8] = [0, 4, 8, 64, 256, 1 << 10, 4 << 10, 16 << 10];
/// One that posts, and one that reads.
const MEMBERS_MIN: u16 = 2;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Members of the billboard: one that posts, and others that read.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(i64::from(MEMBERS_MIN)..=64))]
    pub members: u16,
    /// Give each member a host of its own: `netns` makes them of this machine, network namespaces that a switch joins (as root).
    #[arg(long, value_enum, value_name = "WHICH")]
    pub hosts: Option<Hosts>,
    /// Lengths of the messages, with commas; K, M, G are powers of 1024 [default: those of the paper's figures].
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size::parse)]
    pub size: Vec<usize>,
    /// Only these, with commas [default: all].
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',')]
    pub what: Vec<What>,
    /// Messages, multicasts and barriers of each sort.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pub iterations: u32,
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
    /// Draw the paper's figures 1, 4, 5 and 6 with these results into this SVG file as well.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Which member this process is, if it is one of the others.
    #[arg(long, hide = true)]
    pub member: Option<u16>,
    /// Where all hosts are,
    #[arg(long, hide = true, value_delimiter = ',')]
    pub at: Vec<IpAddr>,
}

impl Arguments {
    /// Finds what clap cannot.
    pub fn check(&self) -> Result<()> {
        match self.longest() as u64 > bcl_bbp::DATA_MAX_BYTES {
            true => Err(Failure::usage(format!(
                "messages of a billboard have at most {} bytes",
                bcl_bbp::DATA_MAX_BYTES
            ))),
            false => Ok(()),
        }
    }

    pub fn sizes(&self) -> &[usize] {
        match self.size.is_empty() {
            true => &SIZES,
            false => &self.size,
        }
    }

    /// Those of `all` that are wanted.
    pub fn wanted(&self, all: &'static [What]) -> impl Iterator<Item = What> + '_ {
        let is_wanted = |what: &What| self.what.is_empty() || self.what.contains(what);
        all.iter().copied().filter(is_wanted)
    }

    fn longest(&self) -> usize {
        self.sizes().iter().copied().max().unwrap_or_default()
    }

    /// Room for each member's messages: several of the longest.
    pub fn data_bytes(&self) -> u64 {
        let several = 4 * self.longest().next_multiple_of(64) as u64;
        several.clamp(bcl_bbp::DATA_BYTES, bcl_bbp::DATA_MAX_BYTES)
    }
}
