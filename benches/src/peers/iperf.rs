//! The kernel's TCP, measured by `iperf3`.

use std::fs;
use std::process::Command;

use crate::command;
use crate::effort::Effort;
use crate::error::{Error, Result, system};
use crate::peers::pair;
use crate::site::Site;

const PROGRAM: &str = "iperf3";
const PACKAGE: &str = "iperf3";
const ALGORITHMS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// MB/s that arrive, with whichever congestion control gets most through.
///
/// # Errors
/// When `iperf3` is missing, fails or prints something new.
pub fn measure_mb_per_s(site: &Site, effort: Effort) -> Result<f64> {
    command::require(PROGRAM, PACKAGE)?;
    let algorithms = fs::read_to_string(ALGORITHMS).map_err(system("read", ALGORITHMS))?;
    let mut best = 0.0;
    for algorithm in algorithms.split_whitespace() {
        best = stream(algorithm, site, effort)?.max(best);
    }
    Ok(best)
}

fn stream(algorithm: &str, site: &Site, effort: Effort) -> Result<f64> {
    let seconds = effort.duration().as_secs().to_string();
    let mut server = site.command(1, PROGRAM);
    server.args(["--server", "--one-off"]);
    let mut client = site.command(0, PROGRAM);
    client.args(["--client", &site.address(1).to_string()]);
    client.args(["--congestion", algorithm, "--time", &seconds]);
    // Not as JSON, for then a client that finds no server yet ends as if all were well.
    client.args(["--format", "m"]);
    let output = pair::run(&mut server, &mut client, PACKAGE)?;
    received(&client, &output)
}

fn received(command: &Command, output: &str) -> Result<f64> {
    let of_receiver = |line: &str| {
        let rate = line.strip_suffix("receiver")?.trim();
        let rate = rate.strip_suffix("Mbits/sec")?.split_whitespace().last()?;
        rate.parse::<f64>().ok()
    };
    let mbit_per_s = output.lines().rev().map(str::trim).find_map(of_receiver);
    mbit_per_s
        .map(|rate| rate / 8.0)
        .ok_or_else(|| Error::Unreadable {
            command: command::describe(command),
            output: output.to_owned(),
        })
}

#[test]
fn what_arrived_is_what_counts() {
    let command = Command::new(PROGRAM);
    let report = "\
[  5]   0.00-2.00   sec  3.05 GBytes  13107 Mbits/sec    7             sender
[  5]   0.00-2.00   sec  3.05 GBytes  8000 Mbits/sec                  receiver

iperf Done.
";
    assert_eq!(received(&command, report).unwrap(), 1000.0);
    assert!(received(&command, "iperf3: error - unable to connect").is_err());
}
