//! A host: a network namespace without a name, and the cables from it.

use std::fs::File;
use std::io::{Error, Result};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::{Block, tool};

/// The network of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// It lives as long as this, a process on it, or a socket that was opened there. Its loopback is up.
#[derive(Debug)]
pub struct Host(File);

impl Host {
    /// A new one.
    ///
    /// # Errors
    /// Of kind `PermissionDenied` for who is not root.
    pub fn new() -> Result<Self> {
        let outside = File::open(OWN)?;
        // SAFETY: a network namespace of its own takes no memory and no descriptor from the thread.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        let host = File::open(OWN).map(Self);
        enter(&outside)?;
        let host = host?;
        host.run("ip link set lo up")?;
        Ok(host)
    }

    /// One that `ip netns` has made and given a name.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn named(name: &str) -> Result<Self> {
        File::open(format!("/run/netns/{name}"))
            .map(Self)
            .map_err(|error| Error::new(error.kind(), format!("namespace {name}: {error}")))
    }

    /// Moves the calling thread to this host for good, with what it starts and opens from now on.
    ///
    /// # Errors
    /// When the kernel does not permit it.
    pub fn enter(&self) -> Result<()> {
        enter(&self.0)
    }

    /// Does something on this host: what it opens belongs there, and so do the processes it starts. The thread comes
    /// back, unless it panics.
    ///
    /// # Panics
    /// When the kernel does not permit the thread to move.
    pub fn within<T>(&self, action: impl FnOnce() -> T) -> T {
        let outside = File::open(OWN).expect("a thread may look at its own network");
        self.enter().expect("who made it may enter it");
        let done = action();
        enter(&outside).expect("who left it may come back");
        done
    }

    /// Has `command` run on this host.
    ///
    /// # Errors
    /// When this process has no descriptor left.
    pub fn adopt(&self, command: &mut Command) -> Result<()> {
        let door = self.0.try_clone()?;
        // SAFETY: one plain system call, allowed between fork and exec.
        unsafe { command.pre_exec(move || enter(&door)) };
        Ok(())
    }

    /// Runs a command line on this host, without a shell, and returns what it printed. Waits for it.
    ///
    /// # Errors
    /// When it cannot be started or does not succeed.
    pub fn run(&self, line: &str) -> Result<String> {
        self.within(|| tool::run(line))
    }

    /// Lays a cable to `other`: an interface with a name and an address at each end. Its network is a part of the
    /// [`Block`], or all of it that is IPv6.
    ///
    /// # Errors
    /// Says which command failed, and what it said.
    pub fn join(&self, near: (&str, IpAddr), other: &Self, far: (&str, IpAddr)) -> Result<()> {
        self.cable(near.0, other, far.0)?;
        self.set_up(near.0, near.1)?;
        other.set_up(far.0, far.1)
    }

    /// Lays a cable to a bridge on another host: an interface with a name and an address at this end, the bridge's with a name at the
    /// other. Its network is all of the [`Block`] that has the address' first part.
    ///
    /// # Errors
    /// Says which command failed, and what it said.
    pub fn plug_into(
        &self,
        (name, address): (&str, IpAddr),
        switch: &Self,
        (socket, bridge): (&str, &str),
    ) -> Result<()> {
        self.cable(name, switch, socket)?;
        self.set_up(name, address)?;
        switch.run(&format!("ip link set {socket} master {bridge} up"))?;
        Ok(())
    }

    fn cable(&self, name: &str, other: &Self, other_name: &str) -> Result<()> {
        let there = format!("/proc/{}/fd/{}", std::process::id(), other.0.as_raw_fd());
        self.run(&format!(
            "ip link add {name} type veth peer name {other_name} netns {there}"
        ))?;
        Ok(())
    }

    fn set_up(&self, name: &str, address: IpAddr) -> Result<()> {
        // Nobody else has it: no second of waiting for objections.
        let (bits, how) = match address {
            IpAddr::V4(_) => (Block::PART_PREFIX_BITS, ""),
            IpAddr::V6(_) => (Block::V6_PREFIX_BITS, "nodad"),
        };
        self.run(&format!("ip address add {address}/{bits} dev {name} {how}"))?;
        self.run(&format!("ip link set {name} up"))?;
        Ok(())
    }
}

fn enter(network: &File) -> Result<()> {
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(Error::from)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn two_hosts_are_joined_and_the_thread_comes_back() {
        let Some((block, [a, b])) = crate::hosts() else {
            return;
        };
        let own = || std::fs::read_link(OWN).unwrap();
        let (here, there) = (own(), a.within(own));
        assert!(here != there && own() == here);
        for (name, other_name, one, other) in [
            ("eth4", "far4", block.v4(0, 1).into(), block.v4(0, 2).into()),
            (
                "eth6",
                "far6",
                IpAddr::from(block.v6(1)),
                block.v6(2).into(),
            ),
        ] {
            a.join((name, one), &b, (other_name, other)).unwrap();
            let far = b.within(|| UdpSocket::bind((other, 7)).unwrap());
            let near = a.within(|| UdpSocket::bind((one, 7)).unwrap());
            near.send_to(b"hello", (other, 7)).unwrap();
            let mut bytes = [0; 9];
            assert_eq!(far.recv_from(&mut bytes).unwrap(), (5, (one, 7).into()));
        }
        // What was asked in a network with these addresses answers with others.
        let elsewhere = a.within(Block::free).unwrap();
        assert_ne!(elsewhere, block);
        let mut command = Command::new("ip");
        command.args(["-4", "address"]);
        b.adopt(&mut command).unwrap();
        let shown = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(shown.contains(&format!("{}/24", block.v4(0, 2))), "{shown}");
    }
}
