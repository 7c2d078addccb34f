//! Bare sockets on which both ends spin: the sockets' probe of the design brief, `sockets.c`.

use std::path::{Path, PathBuf};

use crate::command;
use crate::effort::{Effort, LIMIT};
use crate::error::{Error, Result};
use crate::limits::brief;
use crate::peers::pair::Server;
use crate::site::Site;
use crate::work::Kind;

/// The compiled probe.
pub struct Sockets(PathBuf);

/// Which sockets.
#[derive(Clone, Copy, Debug)]
pub enum Protocol {
    /// Datagrams, of which none may be lost.
    Udp,
    /// A stream.
    Tcp,
}

impl Sockets {
    /// Compiles the probe into `folder`.
    ///
    /// # Errors
    /// When the brief is not there.
    pub fn build(folder: &Path) -> Result<Self> {
        brief::compile("sockets", folder).map(Self)
    }

    /// One-way time in us, the median. The probe pins itself to cores 0 and 1, and does one thing only: latency.
    ///
    /// # Errors
    /// When it fails, hangs, or prints something new.
    pub fn measure_us(
        &self,
        protocol: Protocol,
        kind: Kind,
        site: &Site,
        effort: Effort,
    ) -> Result<f64> {
        let Kind::Latency { size_bytes } = kind else {
            unreachable!("the table of works asks bare sockets for nothing else");
        };
        let end = |rank: usize| {
            let mut command = site.command(rank, &self.0.to_string_lossy());
            let which = match protocol {
                Protocol::Udp => "0",
                Protocol::Tcp => "1",
            };
            let other = site.address(1 - rank).to_string();
            command.args([which, &rank.to_string(), &other]);
            command.args([size_bytes.to_string(), effort.iterations(kind).to_string()]);
            command.arg("1");
            command
        };
        // The first end waits a second for the other. The other ends with its last answer, or with this function.
        let _server = Server::start(&mut end(1), "gcc")?;
        let mut client = end(0);
        let output = command::run(&mut client, "gcc", LIMIT)?;
        median_us(&output).ok_or_else(|| Error::Unreadable {
            command: command::describe(&client),
            output,
        })
    }
}

fn median_us(output: &str) -> Option<f64> {
    let rest = output.split_once(" p50 ")?.1;
    rest.split_whitespace().next()?.parse().ok()
}

#[test]
fn the_median_is_read() {
    let output = "udp spin size 8 one-way us: min 1.74 p50 2.11 p99 3.97\n";
    assert_eq!(median_us(output), Some(2.11));
    assert_eq!(median_us("c: Connection refused"), None);
}
