//! UCX, measured by its own `ucx_perftest`: a server and a client, each on its core.

use std::net::TcpListener;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::command;
use crate::cores::{Cores, Place};
use crate::effort::{Effort, LIMIT};
use crate::error::{Error, Result, system};
use crate::peers::ucx_output::{Row, last_row};
use crate::watchdog::Watchdog;
use crate::work::{Kind, Operation};

const PROGRAM: &str = "ucx_perftest";
const PACKAGE: &str = "ucx-utils";
/// As many as BCL and MPI have in flight in the same stream.
const STREAM_DEPTH: &str = "1";
/// The server takes a moment to listen; it prints nothing when it does.
const CONNECT_ATTEMPTS: u32 = 40;
const CONNECT_PAUSE: Duration = Duration::from_millis(50);
/// More than any crowd gets through: it is ended by time.
const ENDLESS: &str = "1000000000";
const PAIRS: usize = 4;

/// One figure of UCX with `UCX_TLS` set to `transports`.
///
/// # Errors
/// When `ucx_perftest` is missing, fails or prints something new.
pub fn measure(transports: &str, kind: Kind, cores: Cores, effort: Effort) -> Result<f64> {
    let iterations = effort.iterations(kind).to_string();
    let test = |test: &str, size: usize, extra: &[&str]| {
        let size = size.to_string();
        let mut arguments = vec!["-t", test, "-s", &size, "-n", &iterations, "-f", "-v"];
        arguments.extend(extra);
        run_pair(transports, cores, &arguments)
    };
    match kind {
        Kind::Latency { size_bytes } => Ok(test("tag_lat", size_bytes, &[])?.median_us),
        Kind::Exchange(Operation::Put) => Ok(test("ucp_put_lat", 8, &[])?.median_us),
        Kind::Stream { size_bytes } => {
            let row = test("tag_bw", size_bytes, &["-O", STREAM_DEPTH, "-w", "100"])?;
            Ok(row.messages_per_s * size_bytes as f64 / 1e6)
        }
        Kind::Rate => Ok(test("tag_bw", 8, &[])?.messages_per_s / 1e6),
        Kind::Pairs => crowd(transports, cores, effort),
        _ => unreachable!("the table of works asks UCX for nothing else"),
    }
}

fn run_pair(transports: &str, cores: Cores, arguments: &[&str]) -> Result<Row> {
    let port = free_port()?;
    let mut server = Server::start(transports, cores.of_rank(1), port, arguments)?;
    let watchdog = Watchdog::over([&server.0], LIMIT);
    let mut client = client(transports, cores.of_rank(0), port, arguments);
    let output = connect(&mut client)?;
    server.0.wait().map_err(system("wait for", PROGRAM))?;
    watchdog.rest();
    read_row(&client, &output)
}

/// The server may not listen yet when the client calls.
fn connect(client: &mut Command) -> Result<String> {
    let mut attempt = 1;
    loop {
        match command::run(client, PACKAGE, LIMIT) {
            Err(Error::Failed { .. }) if attempt < CONNECT_ATTEMPTS => {
                attempt += 1;
                sleep(CONNECT_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

/// Four pairs at once on two cores: thousand messages a second, all pairs together.
fn crowd(transports: &str, cores: Cores, effort: Effort) -> Result<f64> {
    let arguments = ["-t", "tag_lat", "-s", "8", "-n", ENDLESS, "-w", "100", "-v"];
    let place = Place::Either(cores);
    let mut servers = Vec::new();
    let mut ports = Vec::new();
    for _ in 0..PAIRS {
        let port = free_port()?;
        servers.push(Server::start(transports, place, port, &arguments)?);
        ports.push(port);
    }
    // Nothing runs before the first client calls, so a pause here costs no one anything.
    sleep(10 * CONNECT_PAUSE);
    let mut clients = Vec::new();
    for port in ports {
        let mut command = client(transports, place, port, &arguments);
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
    Ok(rate / 1e3)
}

fn client(transports: &str, place: Place, port: u16, arguments: &[&str]) -> Command {
    let mut command = perftest(transports, place, port, arguments);
    command.arg("127.0.0.1");
    command
}

fn perftest(transports: &str, place: Place, port: u16, arguments: &[&str]) -> Command {
    let mut command = place.command(PROGRAM);
    command.env("UCX_TLS", transports).args(arguments);
    command.args(["-p", &port.to_string()]);
    command
}

fn read_row(command: &Command, output: &str) -> Result<Row> {
    last_row(output).ok_or_else(|| Error::Unreadable {
        command: command::describe(command),
        output: output.to_owned(),
    })
}

/// A server that does not outlive its measurement.
struct Server(Child);

impl Server {
    fn start(transports: &str, place: Place, port: u16, arguments: &[&str]) -> Result<Self> {
        command::require(PROGRAM, PACKAGE)?;
        let mut command = perftest(transports, place, port, arguments);
        Ok(Self(command::start(&mut command, PACKAGE)?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already needs no signal, and no one is left to tell of a failure.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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
