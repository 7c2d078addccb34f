//! Two hosts on one machine: this process and its partner, each in a network of its own, with a link between.
//!
//! Nothing has to be removed afterwards: the networks have no names, so they go with their processes, however
//! these end, and the link goes with them.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use bcl::NodeId;

use crate::failure::{Failure, Result};

/// The two ends of the link, as long as both are here.
const ENDS: [&str; 2] = ["bcl0", "bcl1"];
/// Node numbers, for documentation and tests only (RFC 5737): no route of the machine is in the way.
const NUMBERS: [&str; 2] = ["192.0.2.1", "192.0.2.2"];

/// Moves this thread, and what it starts, to a network of its own with one end of the link. Call before any port
/// is open. Returns the node number there.
pub fn enter() -> Result<NodeId> {
    unshare().map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Failure::new(
            "cannot make network namespaces: that takes root (or CAP_SYS_ADMIN): use sudo, or measure a real host \
             with --host NAME",
        ),
        _ => Failure::system("make a network namespace", error),
    })?;
    let [own, other] = ENDS;
    ip(
        &[],
        &["link", "add", own, "type", "veth", "peer", "name", other],
    )?;
    set_up(&[], own, NUMBERS[0])?;
    number(NUMBERS[0])
}

/// Has a command run in another new network.
pub fn separate(command: &mut Command) {
    // SAFETY: unshare is a plain system call, allowed between fork and exec.
    unsafe { command.pre_exec(unshare) };
}

/// Gives the process the other end of the link.
pub fn connect(pid: u32) -> Result<()> {
    let there = format!("--net=/proc/{pid}/ns/net");
    let [_, other] = ENDS;
    ip(&[], &["link", "set", other, "netns", &pid.to_string()])?;
    set_up(&["nsenter", &there], other, NUMBERS[1])
}

/// The node number of the process at the other end.
pub fn partner() -> Result<NodeId> {
    number(NUMBERS[1])
}

fn set_up(prefix: &[&str], end: &str, number: &str) -> Result<()> {
    let address = format!("{number}/24");
    ip(prefix, &["addr", "add", &address, "dev", end])?;
    ip(prefix, &["link", "set", end, "up"])?;
    ip(prefix, &["link", "set", "lo", "up"])
}

fn ip(prefix: &[&str], arguments: &[&str]) -> Result<()> {
    let words = [prefix, &["ip"], arguments].concat();
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::new(format!(
            "cannot start {}: there is no such program (Debian: iproute2, util-linux)",
            words[0]
        )),
        _ => Failure::system(format_args!("start {}", words[0]), error),
    })?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "'{}' failed: {}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

fn unshare() -> io::Result<()> {
    // SAFETY: it touches no memory; a thread may leave its network while others stay there.
    match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn number(text: &str) -> Result<NodeId> {
    text.parse()
        .map_err(|error: bcl::ParseAddressError| Failure::new(error.to_string()))
}
