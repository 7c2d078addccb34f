//! `bcl stat`: what the live ports of this node have done and what they wait for.
//!
//! The numbers lie in memory that each port shows to everybody; reading them disturbs nobody.

mod connections;
mod copies;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use bcl::{Address, Folder};
use bcl_observe::{Attached, Counter, CounterKind, Numbers, attach};
use clap::Args;
use serde_json::{Map, Value, json};

use crate::agent_stat;
use crate::failure::{Failure, Result};
use crate::output;

/// Show the counters of every live port on this node.
///
/// The ports' programs are not disturbed: the counters lie in shared memory, which is only read. Ports that
/// cannot be looked at are listed with the reason: on standard error, or as `error` in JSON.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Only these ports [default: all].
    #[arg(value_name = "ADDRESS", value_parser = crate::peer::address)]
    ports: Vec<Address>,
    /// All counters, one a line (see below), and not just the most telling ones.
    #[arg(long)]
    all: bool,
    /// The connections to ports of other nodes, one a line, instead of the ports; the last columns are packets dropped,
    /// by cause.
    #[arg(long, conflicts_with_all = ["all", "watch"])]
    connections: bool,
    /// How long messages are copied within the node, one line for each class of lengths of a port, instead of the ports: what
    /// each way has cost its process lately, as far as it has tried. It takes the quickest.
    #[arg(long, conflicts_with_all = ["all", "watch", "connections"])]
    copies: bool,
    /// What the node's agent (bcld) tells: its ports, and the interface program's counters by cause.
    #[arg(long, conflicts_with_all = ["all", "watch", "connections", "copies", "ports"])]
    agent: bool,
    /// The same in the text format of Prometheus, for node_exporter's textfile collector.
    #[arg(long, conflicts_with_all = ["all", "watch", "connections", "copies", "ports", "json", "agent"])]
    prometheus: bool,
    /// Print one JSON object a line and port.
    #[arg(long)]
    json: bool,
    /// Look again and again, with what was added per second; ends with Ctrl-C.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1", value_parser = parse_pause)]
    watch: Option<Duration>,
}

/// The columns of the table: a name that fits above the numbers, and the counter.
const COLUMNS: [(&str, Counter); 10] = [
    ("sys sent", Counter::SystemSent),
    ("sys rcvd", Counter::SystemReceived),
    ("sent", Counter::NormalSent),
    ("rcvd", Counter::NormalReceived),
    ("bytes sent", Counter::BytesSent),
    ("bytes rcvd", Counter::BytesReceived),
    ("pending", Counter::PendingSends),
    ("posted", Counter::Posted),
    ("failed", Counter::Failed),
    ("peers", Counter::Peers),
];

/// Prints once, or until interrupted.
pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.agent {
        return agent_stat::show(arguments.json);
    }
    if arguments.prometheus {
        return agent_stat::metrics();
    }
    let folder =
        Folder::open(Folder::default_path()).map_err(|error| Failure::new(error.to_string()))?;
    let mut watched = Watched::default();
    let complaints = watched.update(&folder, arguments)?;
    if complaints > 0 && !arguments.ports.is_empty() {
        return Err(Failure::new("not all of the ports asked for could be read"));
    }
    if arguments.connections {
        return connections::show(&watched, arguments.json);
    }
    if arguments.copies {
        return copies::show(&watched, arguments.json);
    }
    let totals = watched.ports.iter();
    let totals: Vec<_> = totals
        .map(|(address, port)| (*address, port.numbers()))
        .collect();
    show(arguments, &watched, &totals, "")?;
    let Some(pause) = arguments.watch else {
        return Ok(());
    };
    loop {
        let before = watched.read();
        let begin = Instant::now();
        thread::sleep(pause);
        let time = begin.elapsed();
        let now = watched.read();
        let rates: Vec<_> = now
            .iter()
            .filter_map(|(address, now)| {
                let before = before.get(address)?;
                Some((*address, now.rates_since(before, time)))
            })
            .collect();
        if !arguments.json {
            output::line("")?;
        }
        show(arguments, &watched, &rates, "_per_s")?;
        watched.update(&folder, arguments)?;
    }
}

fn parse_pause(text: &str) -> std::result::Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    let pause = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    pause
        .filter(|pause| !pause.is_zero())
        .ok_or_else(|| format!("'{text}' is not a pause: write seconds, as in 0.5"))
}

/// The ports that are looked at.
#[derive(Default)]
struct Watched {
    ports: BTreeMap<Address, Attached>,
    /// Those that have been complained about: once is enough.
    refused: BTreeMap<Address, String>,
}

impl Watched {
    /// Takes new ports in and lets ended ones go; says which cannot be read, and how many these are.
    fn update(&mut self, folder: &Folder, arguments: &Arguments) -> Result<usize> {
        let alive = alive(folder, arguments)?;
        self.ports.retain(|address, _| alive.contains(address));
        self.refused.retain(|address, _| alive.contains(address));
        let mut complaints = 0;
        for address in alive {
            if self.ports.contains_key(&address) {
                continue;
            }
            match attach(folder, address) {
                Ok(attached) => drop(self.ports.insert(address, attached)),
                Err(error) => {
                    complaints += 1;
                    let text = error.to_string();
                    let is_new = self.refused.insert(address, text.clone()).is_none();
                    match (is_new, arguments.json) {
                        (true, true) => {
                            output::json(&json!({"port": address.to_string(), "error": text}))?
                        }
                        (true, false) => eprintln!("bcl: {address}: {text}"),
                        (false, _) => {}
                    }
                }
            }
        }
        Ok(complaints)
    }

    fn read(&self) -> BTreeMap<Address, Numbers> {
        let ports = self.ports.iter();
        ports
            .map(|(address, port)| (*address, port.numbers()))
            .collect()
    }
}

fn alive(folder: &Folder, arguments: &Arguments) -> Result<Vec<Address>> {
    if !arguments.ports.is_empty() {
        return Ok(arguments.ports.clone());
    }
    let ports = folder
        .list()
        .map_err(|error| Failure::new(error.to_string()))?;
    let alive = ports.into_iter().filter(|(_, is_alive)| *is_alive);
    Ok(alive.map(|(address, _)| address).collect())
}

fn show(
    arguments: &Arguments,
    watched: &Watched,
    rows: &[(Address, Numbers)],
    suffix: &str,
) -> Result<()> {
    if arguments.json {
        let lines = rows.iter();
        return lines
            .map(|(address, numbers)| object(*address, &watched.ports[address], numbers, suffix))
            .try_for_each(|object| output::json(&object));
    }
    let per_second = if suffix.is_empty() {
        ""
    } else {
        " (per second)"
    };
    if rows.is_empty() {
        return output::line("no ports are open on this node");
    }
    match arguments.all {
        true => rows.iter().try_for_each(|(address, numbers)| {
            output::line(format_args!("{address}{per_second}"))?;
            numbers.iter().try_for_each(|(counter, value)| {
                let (name, help) = (counter.name(), counter.help());
                output::line(format_args!("  {name:<20} {value:>16.0}  {help}"))
            })
        }),
        false => table(watched, rows, per_second),
    }
}

fn table(watched: &Watched, rows: &[(Address, Numbers)], per_second: &str) -> Result<()> {
    let heads = COLUMNS.iter().map(|(head, _)| format!(" {head:>12}"));
    output::line(format_args!(
        "{:<21} {:>8}{}{per_second}",
        "port",
        "pid",
        heads.collect::<String>()
    ))?;
    rows.iter().try_for_each(|(address, numbers)| {
        let pid = watched.ports[address].identity().pid;
        let cells = COLUMNS
            .iter()
            .map(|(_, column)| format!(" {:>12.0}", numbers.get(*column)));
        let cells: String = cells.collect();
        output::line(format_args!("{:<21} {pid:>8}{cells}", address.to_string()))
    })
}

/// The names are stable; numbers that were divided by time say so.
fn object(address: Address, port: &Attached, numbers: &Numbers, suffix: &str) -> Value {
    let identity = port.identity();
    let mut object = Map::new();
    object.insert("port".into(), json!(address.to_string()));
    object.insert("pid".into(), json!(identity.pid));
    object.insert("uid".into(), json!(identity.uid));
    object.insert("asleep".into(), json!(port.is_asleep()));
    for (counter, value) in numbers.iter() {
        let is_level = counter.kind() == CounterKind::Level;
        let (name, value) = match is_level || suffix.is_empty() {
            true => (counter.name().to_owned(), json!(value as u64)),
            false => (format!("{}{suffix}", counter.name()), json!(value)),
        };
        object.insert(name, value);
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_a_positive_number_of_seconds() {
        assert_eq!(parse_pause("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "x", "", "nan", "1e300"] {
            assert!(parse_pause(text).unwrap_err().contains("0.5"), "{text}");
        }
    }
}
