//! Helper processes: the program `bcl-peer` of this crate, told line by line what to do.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use bcl::{Address, CopyMode};

use crate::world::KEY;

/// Path of a program of this package, which cargo builds beside the tests.
pub fn program(name: &str) -> PathBuf {
    let test = env::current_exe().expect("a test program knows its path");
    let deps = test.parent().expect("it lies in a folder");
    deps.parent()
        .expect("target/PROFILE/deps has a parent")
        .join(name)
}

/// The command that starts `bcl-peer` in the role, with the environment of a world's ports.
pub fn command(folder: &Path, role: &[&str]) -> Command {
    let mut command = Command::new(program("bcl-peer"));
    command.args(role);
    prepare(&mut command, folder);
    command
}

/// Gives any command the environment of a world's ports.
pub fn prepare(command: &mut Command, folder: &Path) {
    command
        .env("BCL_DIR", folder)
        .env("BCL_NODE", "127.0.0.1")
        .env("BCL_JOB_KEY", KEY)
        .env_remove("BCL_COPY")
        .env_remove("BCL_STREAMS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
}

/// A running `bcl-peer`. Dropping it kills it.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Where its port is reached.
    pub address: Address,
}

impl Peer {
    /// A peer with one port, that obeys.
    pub fn start(folder: &Path) -> Self {
        Self::spawn(command(folder, &["obey"]))
    }

    /// As [`start`](Self::start), copying long messages so.
    pub fn start_copying(folder: &Path, copy: CopyMode) -> Self {
        let mut command = command(folder, &["obey"]);
        command.env("BCL_COPY", copy.name());
        Self::spawn(command)
    }

    /// Starts a command of [`command`] and reads the address that it says first.
    pub fn spawn(command: Command) -> Self {
        let mut peer = Self::of_program(command);
        let line = peer.line();
        peer.address = line
            .parse()
            .unwrap_or_else(|_| panic!("bcl-peer says '{line}' and not its address"));
        peer
    }

    /// Starts another program that obeys, and has no address.
    pub fn of_program(mut command: Command) -> Self {
        let mut child = command.spawn().expect("bcl-peer starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Self {
            child,
            input,
            output,
            address: "127.0.0.1:1".parse().expect("it is an address"),
        }
    }

    /// Process number.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// The next line that it says; panics if it has ended.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        assert!(
            matches!(read, Ok(len) if len > 0),
            "bcl-peer {} has ended: {:?}",
            self.pid(),
            self.child.wait()
        );
        line.trim_end().to_owned()
    }

    /// Gives an order without waiting for the answer.
    pub fn order(&mut self, order: &str) {
        let input = self.input.as_mut().expect("input is open");
        writeln!(input, "{order}").expect("bcl-peer reads");
    }

    /// Gives an order and returns the answer.
    pub fn ask(&mut self, order: &str) -> String {
        self.order(order);
        self.line()
    }

    /// Gives an order whose answer must be `ok`.
    pub fn tell(&mut self, order: &str) {
        let answer = self.ask(order);
        assert_eq!(answer, "ok", "to '{order}'");
    }

    /// Sends a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: the child has not been waited for, so that the number is still its own.
        assert_eq!(unsafe { libc::kill(self.pid(), signal) }, 0);
    }

    /// Stops it, all its threads, before this returns.
    pub fn stop(&self) {
        self.signal(libc::SIGSTOP);
        let is_stopped = || {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid()));
            tasks.expect("it lives").flatten().all(|task| {
                let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
                stat.rsplit_once(") ")
                    .is_some_and(|(_, rest)| rest.starts_with('T'))
            })
        };
        while !is_stopped() {
            std::thread::yield_now();
        }
    }

    /// Kills it as nobody can refuse, and takes its exit status.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Kills it, and lets nobody take its exit status: the state in which peers find it first.
    pub fn kill_only(&mut self) {
        let _ = self.child.kill();
    }

    /// Waits for its end: exit status, or the negative signal.
    pub fn end(&mut self) -> i32 {
        drop(self.input.take());
        let status = self.child.wait().expect("it is our child");
        status
            .code()
            .unwrap_or_else(|| -status.signal().unwrap_or(0))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
