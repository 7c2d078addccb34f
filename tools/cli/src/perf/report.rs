//! Results, as a table for people or as one JSON object a line.

use bcl::Device;
use serde::Serialize;

use super::arguments::{Channel, Options, Pair, Target, Window, word};
use super::endpoint::Endpoint;
use super::picture;
use super::statistics::Summary;
use crate::failure::Result;
use crate::{output, size};

/// What was found out about one size; what does not apply stays empty.
#[derive(Debug, Default, Clone)]
pub struct Row {
    /// The operation, if the benchmark has several.
    pub operation: Option<String>,
    pub size_bytes: usize,
    pub iterations: u64,
    pub channel: Option<Channel>,
    pub window: Option<Window>,
    pub target: Option<Target>,
    pub outstanding: Option<u64>,
    pub one_way_us: Option<Summary>,
    pub mb_per_s: Option<f64>,
    pub messages_per_s: Option<f64>,
}

/// A line of JSON. The names are stable: scripts live by them.
#[derive(Serialize)]
struct Line<'a> {
    bench: &'a str,
    device: &'a str,
    hosts: usize,
    size_bytes: usize,
    iterations: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    one_way_us_min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    one_way_us_p50: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    one_way_us_p99: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mb_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outstanding: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    buffers: Option<String>,
    copy: &'a str,
    wait: &'a str,
}

/// What is reported so far.
pub struct Report {
    bench: &'static str,
    json: bool,
    buffers: String,
    device: &'static str,
    hosts: usize,
    copy: String,
    wait: &'static str,
    rows: Vec<Row>,
}

impl Report {
    /// Says under which conditions is measured.
    pub fn begin(bench: &Pair, end: &Endpoint) -> Result<Self> {
        let report = Self {
            bench: bench.name(),
            json: bench.options().json,
            buffers: word(&bench.options().buffers),
            device: end.device.map_or("", Device::name),
            hosts: 1 + usize::from(end.peer.node != end.port.address().node),
            copy: end.copy.clone(),
            wait: if end.polling { "poll" } else { "adaptive" },
            rows: Vec::new(),
        };
        if !report.json {
            let meanwhile = match bench {
                Pair::Rma(rma) => format!(
                    ", the partner: {}, operations under way: {}",
                    word(&rma.target),
                    rma.outstanding
                ),
                _ => String::new(),
            };
            output::line(format_args!(
                "bcl perf {}: device {}, long messages: {}, waiting: {}{meanwhile}",
                report.bench, report.device, report.copy, report.wait
            ))?;
            output::line(report.head(bench))?;
        }
        Ok(report)
    }

    fn head(&self, bench: &Pair) -> String {
        match bench {
            Pair::Latency(_) => format!(
                "{:>8} {:>8} {:>10} {:>12} {:>12} {:>12}",
                "size", "channel", "iterations", "one way us", "p50", "p99"
            ),
            Pair::Bandwidth(_) | Pair::Rate(_) => format!(
                "{:>8} {:>8} {:>10} {:>12} {:>14}",
                "size", "channel", "iterations", "MB/s", "messages/s"
            ),
            Pair::Rma(_) => format!(
                "{:>12} {:>8} {:>8} {:>10} {:>12} {:>12} {:>12} {:>12}",
                "operation", "size", "window", "iterations", "us (min)", "p50", "p99", "MB/s"
            ),
        }
    }

    /// Shows a row at once, and keeps it.
    pub fn add(&mut self, row: Row) -> Result<()> {
        match self.json {
            true => output::json(&self.line(&row))?,
            false => output::line(text(&row))?,
        }
        self.rows.push(row);
        Ok(())
    }

    /// Draws the picture, if one is wanted.
    pub fn finish(&self, options: &Options) -> Result<()> {
        match &options.plot {
            Some(path) => picture::draw(path, self.bench, &self.rows),
            None => Ok(()),
        }
    }

    fn line<'a>(&'a self, row: &'a Row) -> Line<'a> {
        Line {
            bench: self.bench,
            device: self.device,
            hosts: self.hosts,
            size_bytes: row.size_bytes,
            iterations: row.iterations,
            one_way_us_min: row.one_way_us.map(|us| us.min),
            one_way_us_p50: row.one_way_us.map(|us| us.p50),
            one_way_us_p99: row.one_way_us.map(|us| us.p99),
            mb_per_s: row.mb_per_s,
            messages_per_s: row.messages_per_s,
            operation: row.operation.as_deref(),
            channel: row.channel.as_ref().map(word),
            window: row.window.as_ref().map(word),
            target: row.target.as_ref().map(word),
            outstanding: row.outstanding,
            buffers: (row.channel != Some(Channel::System)).then(|| self.buffers.clone()),
            copy: &self.copy,
            wait: self.wait,
        }
    }
}

fn text(row: &Row) -> String {
    let size = size::show(row.size_bytes);
    let mut text = match &row.operation {
        Some(operation) => format!("{operation:>12} {size:>8}"),
        None => format!("{size:>8}"),
    };
    let place = row.channel.as_ref().map(word);
    let place = place.or_else(|| row.window.as_ref().map(word));
    text += &format!(" {:>8} {:>10}", place.unwrap_or_default(), row.iterations);
    if let Some(us) = row.one_way_us {
        text += &format!(" {:>12.3} {:>12.3} {:>12.3}", us.min, us.p50, us.p99);
    }
    if let Some(mb) = row.mb_per_s {
        text += &format!(" {mb:>12.1}");
    }
    if let Some(messages) = row.messages_per_s {
        text += &format!(" {messages:>14.0}");
    }
    text
}
