//! Child processes for tests: the test program runs itself again, with only one test.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Set in a child, to what it is to do.
const ROLE: &str = "BCL_NODE_TEST_ROLE";

/// What this process has been started for, if it is a child.
pub fn role() -> Option<String> {
    env::var(ROLE).ok()
}

/// A child that runs the test `name`, which looks at its [`role`].
pub fn child(name: &str, role: &str) -> Command {
    let program = env::current_exe().expect("a test program knows its path");
    let mut command = Command::new(program);
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ROLE, role);
    command
}

/// Starts a child and waits for the line in which it says that it is `ready`.
#[allow(dead_code, reason = "not every test program has children that stay")]
pub fn start(mut command: Command) -> Child {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let output = BufReader::new(child.stdout.as_mut().expect("it is a pipe"));
    let is_ready = output
        .lines()
        .map_while(Result::ok)
        .any(|line| line.ends_with("ready"));
    assert!(is_ready, "the child has ended too early");
    child
}
