//! UCX, measured by its own `ucx_perftest`: a server and a client, each on its core.

use std::net::TcpListener;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::command;
use crate::cores::Place;
use crate::effort::Effort;
use crate::error::{Error, Result, system};
use crate::peers::pair::{self, CONNECT_PAUSE, Server};
use crate::peers::ucx_output::{Row, last_row};
use crate::site::Site;
use crate::work::{Kind, Operation};

const PROGRAM: &str = "ucx_perftest";
const PACKAGE: &str = "ucx-utils";
/// More than any crowd gets through: it is ended by time.
const ENDLESS: &str = "1000000000";
const PAIRS: usize = 4;

/// One figure of UCX with `UCX_TLS` set to `transports`.
///
/// # Errors
/// When `ucx_perftest` is missing, fails or prints something new.
pub fn measure(transports: &str, kind: Kind, site: &Site, effort: Effort) -> Result<f64> {
    let iterations = effort.iterations(kind).to_string();
    let test = |test: &str, size: usize, extra: &[&str]| {
        let size = size.to_string();
        let mut arguments = vec!["-t", test, "-s", &size, "-n", &iterations, "-f", "-v"];
        arguments.extend(extra);
        run_pair(transports, site, &arguments)
    };
    match kind {
        Kind::Latency { size_bytes } => Ok(test("tag_lat", size_bytes, &[])?.median_us),
        Kind::Exchange(Operation::Put) => Ok(test("ucp_put_lat", 8, &[])?.median_us),
        Kind::Stream {
            size_bytes,
            in_flight,
        } => {
            let in_flight = in_flight.to_string();
            let row = test("tag_bw", size_bytes, &["-O", &in_flight, "-w", "100"])?;
            Ok(row.messages_per_s * size_bytes as f64 / 1e6)
        }
        Kind::Rate => Ok(test("tag_bw", 8, &[])?.messages_per_s / 1e6),
        Kind::Pairs => {
            let ping_pong = ["-t", "tag_lat", "-s", "8", "-w", "100"];
            Ok(crowd(transports, site, effort, &ping_pong)? / 1e3)
        }
        Kind::Streams {
            size_bytes,
            in_flight,
        } => {
            let (size, in_flight) = (size_bytes.to_string(), in_flight.to_string());
            let stream = ["-t", "tag_bw", "-s", &size, "-O", &in_flight, "-w", "100"];
            Ok(crowd(transports, site, effort, &stream)? * size_bytes as f64 / 1e6)
        }
        _ => unreachable!("the table of works asks UCX for nothing else"),
    }
}

fn run_pair(transports: &str, site: &Site, arguments: &[&str]) -> Result<Row> {
    command::require(PROGRAM, PACKAGE)?;
    let port = free_port()?;
    let test = |rank| perftest(transports, site.command(rank, PROGRAM), port, arguments);
    let (mut server, mut client) = (test(1), test(0));
    client.arg(site.address(1).to_string());
    let output = pair::run(&mut server, &mut client, PACKAGE)?;
    read_row(&client, &output)
}

/// Four pairs at once on two cores: messages a second, all pairs together.
fn crowd(transports: &str, site: &Site, effort: Effort, test: &[&str]) -> Result<f64> {
    command::require(PROGRAM, PACKAGE)?;
    let mut arguments = vec!["-n", ENDLESS, "-v"];
    arguments.extend(test);
    let place = Place::Either(site.cores);
    let test = |rank, port| {
        let program = site.command_at(rank, place, PROGRAM);
        perftest(transports, program, port, &arguments)
    };
    let mut servers = Vec::new();
    let mut ports = Vec::new();
    for _ in 0..PAIRS {
        let port = free_port()?;
        servers.push(Server::start(&mut test(1, port), PACKAGE)?);
        ports.push(port);
    }
    // Nothing runs before the first client calls, so a pause here costs no one anything.
    sleep(10 * CONNECT_PAUSE);
    let mut clients = Vec::new();
    for port in ports {
        let mut command = test(0, port);
        command.arg(site.address(1).to_string());
        let child = command::start(&mut command, PACKAGE)?;
        clients.push((command, child));
    }
    // Each client reports once a second, late when the others let it wait: twice the time for the last one.
    sleep(2 * effort.duration() + Duration::from_millis(500));
    for (_, child) in &clients {
        end(child);
    }
    let mut rate = 0.0;
    for (command, child) in clients {
        let output = command::finish(&command, child)?;
        let output = String::from_utf8_lossy(&output.stdout);
        rate += read_row(&command, &output)?.messages_per_s;
    }
    Ok(rate)
}

fn perftest(transports: &str, mut program: Command, port: u16, arguments: &[&str]) -> Command {
    program.env("UCX_TLS", transports).args(arguments);
    program.args(["-p", &port.to_string()]);
    program
}

fn read_row(command: &Command, output: &str) -> Result<Row> {
    last_row(output).ok_or_else(|| Error::Unreadable {
        command: command::describe(command),
        output: output.to_owned(),
    })
}

fn end(child: &Child) {
    // It may have ended by itself; its output tells.
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
}

fn free_port() -> Result<u16> {
    let describe = || "a free TCP port of 127.0.0.1";
    let listener = TcpListener::bind("127.0.0.1:0").map_err(system("find", describe()))?;
    let address = listener.local_addr().map_err(system("find", describe()))?;
    Ok(address.port())
}
