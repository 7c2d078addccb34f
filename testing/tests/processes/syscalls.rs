//! A polling ping-pong makes no system call: counted by strace, if it is there and may trace.

use std::process::{Command, Stdio};

use bcl_testing::World;
use bcl_testing::peer::{Peer, command, prepare, program};

/// Counts the system calls of the pinging thread between two marks, which are calls of their own.
#[test]
fn a_polling_ping_pong_makes_no_system_call() {
    let world: World = World::new();
    let mut pong = Peer::spawn(command(world.folder(), &["pong"]));
    let address = pong.address.to_string();
    let mut strace = Command::new("strace");
    strace
        .args(["-o", "/dev/stdout"])
        .arg(program("bcl-peer"))
        .args(["ping", &address, "10000"])
        .stderr(Stdio::piped());
    prepare(&mut strace, world.folder());
    let output = match strace.output() {
        Ok(output) if output.status.success() => output,
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!why.contains("panicked"), "{why}");
            println!("strace may not trace here, nothing was counted: {why}");
            return;
        }
        Err(error) => {
            println!("strace cannot be run, nothing was counted: {error}");
            return;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let between: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("getppid"))
        .skip(1)
        .take_while(|line| !line.starts_with("getppid"))
        .collect();
    assert!(
        text.matches("getppid").count() >= 2,
        "both marks are there: {text}"
    );
    assert!(
        between.is_empty(),
        "{} calls, such as {:?}",
        between.len(),
        between[0]
    );
    pong.kill();
}
