//! Results, as a table for people or as one JSON object a line.

use clap::ValueEnum;
use serde::Serialize;

use super::arguments::Arguments;
use super::figures;
use crate::failure::Result;
use crate::perf::statistics::Summary;
use crate::{output, size};

/// What members do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A message to one.
    Message = 1,
    /// One post for all others.
    Multicast,
    /// Messages along a binomial tree, to all others.
    Tree,
    /// One hears from all, and posts for all.
    Barrier,
    /// Members exchange messages.
    BarrierByMessages,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Multicast => "multicast",
            Self::Tree => "tree of messages",
            Self::Barrier => "barrier",
            Self::BarrierByMessages => "barrier of messages",
        }
    }
}

/// What was found out.
#[derive(Debug, Clone)]
pub struct Row {
    pub what: What,
    pub size_bytes: usize,
    /// So many take part.
    pub members: u16,
    /// From the post until the last has it, or a barrier.
    pub until_all_us: Option<Summary>,
    /// From the post until the kernel of the last has it, between hosts.
    pub delivered_us: Option<Summary>,
    /// What the post takes its member.
    pub post_us: Option<Summary>,
}

/// A line of JSON. The names are stable: scripts live by them.
#[derive(Serialize)]
struct Line {
    bench: &'static str,
    hosts: u16,
    what: What,
    members: u16,
    size_bytes: usize,
    iterations: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    until_all_us_min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until_all_us_p50: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until_all_us_p99: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivered_us_p50: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    post_us_p50: Option<f64>,
}

/// What is reported so far.
pub struct Report {
    json: bool,
    hosts: u16,
    iterations: u32,
    rows: Vec<Row>,
}

impl Report {
    /// Says what is measured.
    pub fn begin(arguments: &Arguments) -> Result<Self> {
        let hosts = arguments.hosts.map_or(1, |_| arguments.members);
        if !arguments.json {
            let place = match hosts {
                1 => "on this host".to_owned(),
                hosts => format!("on {hosts} hosts"),
            };
            output::line(format_args!(
                "bcl perf bbp: {} members {place}; until the last has it, what posting takes{}",
                arguments.members,
                match hosts {
                    1 => "",
                    _ => ", and until the last kernel has it",
                }
            ))?;
            output::line(format_args!(
                "{:>20} {:>8} {:>8} {:>12} {:>12} {:>12} {:>12} {:>12}",
                "what", "size", "members", "us (min)", "p50", "p99", "post p50", "kernels p50"
            ))?;
        }
        Ok(Self {
            json: arguments.json,
            hosts,
            iterations: arguments.iterations,
            rows: Vec::new(),
        })
    }

    /// Shows a row at once, and keeps it.
    pub fn add(&mut self, row: &Row) -> Result<()> {
        match self.json {
            true => output::json(&self.line(row))?,
            false => output::line(text(row))?,
        }
        self.rows.push(row.clone());
        Ok(())
    }

    /// Draws the figures, if they are wanted.
    pub fn finish(&self, arguments: &Arguments) -> Result<()> {
        match &arguments.plot {
            Some(path) => figures::draw(path, &self.rows),
            None => Ok(()),
        }
    }

    fn line(&self, row: &Row) -> Line {
        Line {
            bench: "bbp",
            hosts: self.hosts,
            what: row.what,
            members: row.members,
            size_bytes: row.size_bytes,
            iterations: self.iterations,
            until_all_us_min: row.until_all_us.map(|us| us.min),
            until_all_us_p50: row.until_all_us.map(|us| us.p50),
            until_all_us_p99: row.until_all_us.map(|us| us.p99),
            delivered_us_p50: row.delivered_us.map(|us| us.p50),
            post_us_p50: row.post_us.map(|us| us.p50),
        }
    }
}

fn text(row: &Row) -> String {
    let (what, size) = (row.what.name(), size::show(row.size_bytes));
    let mut text = format!("{what:>20} {size:>8} {:>8}", row.members);
    if let Some(us) = row.until_all_us {
        text += &format!(" {:>12.3} {:>12.3} {:>12.3}", us.min, us.p50, us.p99);
    }
    for us in [row.post_us, row.delivered_us].into_iter().flatten() {
        text += &format!(" {:>12.3}", us.p50);
    }
    text
}
