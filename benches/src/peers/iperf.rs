//! The kernel's TCP, measured by `iperf3`.

use std::fs;
use std::process::Command;

use serde_json::Value;

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
    client.args(["--congestion", algorithm, "--time", &seconds, "--json"]);
    let output = pair::run(&mut server, &mut client, PACKAGE)?;
    received(&client, &output)
}

fn received(command: &Command, output: &str) -> Result<f64> {
    let rate = serde_json::from_str::<Value>(output)
        .ok()
        .and_then(|report| report["end"]["sum_received"]["bits_per_second"].as_f64());
    let bits_per_s = rate.ok_or_else(|| Error::Unreadable {
        command: command::describe(command),
        output: output.to_owned(),
    })?;
    Ok(bits_per_s / 8e6)
}

#[test]
fn what_arrived_is_what_counts() {
    let command = Command::new(PROGRAM);
    let report = r#"{"end": {"sum_sent": {"bits_per_second": 9e9}, "sum_received": {"bits_per_second": 8e9}}}"#;
    assert_eq!(received(&command, report).unwrap(), 1000.0);
    assert!(received(&command, r#"{"error": "unable to connect"}"#).is_err());
}
