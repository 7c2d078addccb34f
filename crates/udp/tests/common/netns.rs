//! Network namespaces joined by veth: hosts and the cables between them, for root.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// A host: a network namespace, which lives as long as this or a socket in it.
pub struct Host(File);

impl Host {
    /// `None`, and a word on why, if we may not make one.
    pub fn new() -> Option<Host> {
        // SAFETY: a network namespace of its own takes no memory or descriptor from the thread.
        if unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.is_err() {
            println!("namespaces cannot be made here (not root?): nothing was checked");
            return None;
        }
        let host = Host(File::open("/proc/thread-self/ns/net").unwrap());
        host.run("ip link set lo up");
        Some(host)
    }

    /// What `action` opens belongs to this host.
    pub fn within<T>(&self, action: impl FnOnce() -> T) -> T {
        move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        action()
    }

    /// Runs a command, which must succeed, on this host.
    pub fn run(&self, command: &str) {
        let words: Vec<&str> = command.split_whitespace().collect();
        let status = self.within(|| Command::new(words[0]).args(&words[1..]).status());
        assert!(status.unwrap().success(), "{command}");
    }

    /// Lays a cable to `other`: interface `name` with `address` here, `other_name` with `other_address` there.
    pub fn join(
        &self,
        (name, address): (&str, &str),
        other: &Host,
        (other_name, other_address): (&str, &str),
    ) {
        let there = format!("/proc/{}/fd/{}", std::process::id(), other.0.as_raw_fd());
        self.run(&format!(
            "ip link add {name} type veth peer name {other_name} netns {there}"
        ));
        for (host, name, address) in [(self, name, address), (other, other_name, other_address)] {
            let nodad = if address.contains(':') { "nodad" } else { "" };
            host.run(&format!("ip address add {address} dev {name} {nodad}"));
            host.run(&format!("ip link set {name} up"));
        }
    }
}
