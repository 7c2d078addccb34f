//! libfabric, measured by its own `fi_pingpong`, the only benchmark that Debian has of it. It spins, and prints means.

use std::process::Command;

use crate::command;
use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::peers::pair;
use crate::site::Site;
use crate::work::Kind;

const PROGRAM: &str = "fi_pingpong";
const PACKAGE: &str = "libfabric-bin";

/// The columns that are used of the row that it prints.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    mb_per_s: f64,
    one_way_us: f64,
}

/// One figure of libfabric with `provider`. A stream is a ping-pong of messages as long.
///
/// # Errors
/// When `fi_pingpong` is missing, fails or prints something new.
pub fn measure(provider: &str, kind: Kind, site: &Site, effort: Effort) -> Result<f64> {
    let iterations = effort.iterations(kind);
    match kind {
        Kind::Latency { size_bytes } => {
            Ok(ping_pong(provider, size_bytes, iterations, site)?.one_way_us)
        }
        // There and back.
        Kind::Stream { size_bytes, .. } => {
            Ok(ping_pong(provider, size_bytes, iterations / 2, site)?.mb_per_s)
        }
        _ => unreachable!("the table of works asks libfabric for nothing else"),
    }
}

fn ping_pong(provider: &str, size_bytes: usize, iterations: usize, site: &Site) -> Result<Row> {
    command::require(PROGRAM, PACKAGE)?;
    let end = |rank| {
        let mut command = site.command(rank, PROGRAM);
        command.args(["-p", provider, "-e", "rdm"]);
        command.args(["-S", &size_bytes.to_string()]);
        command.args(["-I", &iterations.to_string()]);
        command
    };
    let (mut server, mut client) = (end(1), end(0));
    client.arg(site.address(1).to_string());
    let output = pair::run(&mut server, &mut client, PACKAGE)?;
    read(&client, &output)
}

fn read(command: &Command, output: &str) -> Result<Row> {
    output
        .lines()
        .rev()
        .find_map(row)
        .ok_or_else(|| Error::Unreadable {
            command: command::describe(command),
            output: output.to_owned(),
        })
}

/// Bytes, messages, acknowledged, total, time, MB/s, us a message, messages a us.
fn row(line: &str) -> Option<Row> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let [_, _, _, _, _, mb_per_s, one_way_us, _] = columns[..] else {
        return None;
    };
    Some(Row {
        mb_per_s: mb_per_s.parse().ok()?,
        one_way_us: one_way_us.parse().ok()?,
    })
}

#[test]
fn the_row_is_read_and_its_head_is_not() {
    let head = "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec";
    assert_eq!(row(head), None);
    let line = "1m      500     =500     1000m       0.69s   1511.92     693.54       0.00";
    let read = row(line).unwrap();
    assert_eq!((read.mb_per_s, read.one_way_us), (1511.92, 693.54));
}
