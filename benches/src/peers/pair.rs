//! A server and a client, as most peers' own benchmarks are.

use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use crate::command;
use crate::effort::LIMIT;
use crate::error::{Error, Result, system};
use crate::watchdog::Watchdog;

/// The server takes a moment to listen; it prints nothing when it does.
const CONNECT_ATTEMPTS: u32 = 40;
/// Between two attempts.
pub const CONNECT_PAUSE: Duration = Duration::from_millis(50);

/// A server that does not outlive its measurement.
pub struct Server(Child);

/// What the client printed. Both are in the Debian package `package`.
///
/// # Errors
/// When one is missing, fails or hangs.
pub fn run(server: &mut Command, client: &mut Command, package: &'static str) -> Result<String> {
    let mut server = Server::start(server, package)?;
    let watchdog = Watchdog::over([&server.0], LIMIT);
    let output = connect(client, package)?;
    server
        .0
        .wait()
        .map_err(system("wait for", "the server of a pair"))?;
    watchdog.rest();
    Ok(output)
}

/// The server may not listen yet when the client calls.
fn connect(client: &mut Command, package: &'static str) -> Result<String> {
    let mut attempt = 1;
    loop {
        match command::run(client, package, LIMIT) {
            Err(Error::Failed { .. }) if attempt < CONNECT_ATTEMPTS => {
                attempt += 1;
                sleep(CONNECT_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

impl Server {
    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &mut Command, package: &'static str) -> Result<Self> {
        Ok(Self(command::start(command, package)?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already needs no signal, and no one is left to tell of a failure.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
