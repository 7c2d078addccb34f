//! Bare sockets on which both ends spin: the sockets' probe of the design brief, `sockets.c`, whose UDP sockets are
//! connected, and a program of our own on which they are not.

use std::path::{Path, PathBuf};

use crate::command;
use crate::effort::{Effort, LIMIT};
use crate::error::{Error, Result};
use crate::limits::brief;
use crate::peers::pair::Server;
use crate::site::Site;
use crate::work::Kind;

/// The compiled programs.
pub struct Sockets {
    connected: PathBuf,
    unconnected: PathBuf,
}

/// Which sockets.
#[derive(Clone, Copy, Debug)]
pub enum Protocol {
    /// Datagrams, of which none may be lost, between sockets that are connected to each other.
    Udp,
    /// The same, between sockets that take them from anybody.
    UdpUnconnected,
    /// A stream.
    Tcp,
}

impl Sockets {
    /// Compiles both into `folder`.
    ///
    /// # Errors
    /// When the brief is not there.
    pub fn build(folder: &Path) -> Result<Self> {
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/sockets/unconnected.c");
        Ok(Self {
            connected: brief::compile("sockets", folder)?,
            unconnected: brief::compile_file(&ours, &folder.join("unconnected"))?,
        })
    }

    /// One-way time in us, the median. They pin themselves to cores 0 and 1, and do one thing only: latency.
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
        let (size, iterations) = (size_bytes.to_string(), effort.iterations(kind).to_string());
        let end = |rank: usize| {
            let (program, which) = match protocol {
                Protocol::Udp => (&self.connected, Some("0")),
                Protocol::Tcp => (&self.connected, Some("1")),
                Protocol::UdpUnconnected => (&self.unconnected, None),
            };
            let other = site.address(1 - rank).to_string();
            let mut command = site.command(rank, &program.to_string_lossy());
            command.args(which).arg(rank.to_string()).arg(other);
            command.args([&size, &iterations]);
            // That it spins: the other program does nothing else.
            command.args(which.map(|_| "1"));
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
