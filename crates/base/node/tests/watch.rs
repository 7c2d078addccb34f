//! The end of a peer process, as seen by the process that it was connected to.

use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::thread;

use bcl_node::Folder;
use bcl_node::watch::{ExitCause, PeerProcess, own_pidfd};
use bcl_types::{Address, NodeId};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tempfile::TempDir;

mod common;

/// A child that has connected to us, and all that it needs.
struct Peer {
    child: Child,
    process: PeerProcess,
    sock: OwnedFd,
    _temporary: TempDir,
}

/// Starts a child that connects, then does what `role` says.
fn peer(role: &str) -> Peer {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::open(temporary.path()).unwrap();
    let bound = folder.bind(NodeId::LOOPBACK, 7, false).unwrap();
    let mut command: Command = common::child("a_child_that_ends", role);
    let child = common::start({
        command.env("BCL_DIR", folder.path());
        command
    });
    let sock = rustix::net::accept(bound.listener()).unwrap();
    // As a peer passes it; older kernels need it.
    let passed = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
    let process = PeerProcess::open(&sock, Some(bcl_os::Fd::own(passed))).unwrap();
    assert!(process.as_fd().is_some());
    Peer {
        child,
        process,
        sock,
        _temporary: temporary,
    }
}

/// Not a test of its own, see [`common::child`].
#[test]
fn a_child_that_ends() {
    let Some(role) = common::role() else { return };
    let folder = Folder::open(Folder::default_path()).unwrap();
    let port = Address {
        node: NodeId::LOOPBACK,
        port: 7,
    };
    let sock = folder.connect(port).unwrap();
    println!("ready");
    // The peer says when, so that it is watching by then.
    let mut order = [PollFd::new(&sock, PollFlags::IN)];
    poll(&mut order, None).unwrap();
    match role.as_str() {
        "exit" => std::process::exit(3),
        "exit 0" => std::process::exit(0),
        "exit from a thread" => thread::spawn(|| std::process::exit(4)).join().unwrap(),
        "abort" => std::process::abort(),
        "close" => {
            drop(sock);
            loop {
                thread::park();
            }
        }
        other => panic!("no such role: {other}"),
    }
}

impl Peer {
    fn order(&self) {
        bcl_node::fdpass::send(&self.sock, b"now", &[]).unwrap();
    }

    /// The end of the socket is what a process notices first.
    fn wait_for_socket(&self) {
        poll(&mut [PollFd::new(&self.sock, PollFlags::RDHUP)], None).unwrap();
    }

    /// As long as we do not wait for our child it is a zombie.
    fn wait_for_zombie(&self) {
        let pidfd = self.process.as_fd().unwrap();
        poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], None).unwrap();
    }

    /// Checks that `cause` is told while the child is a zombie and after it was waited for.
    fn expect(mut self, cause: ExitCause) {
        self.wait_for_zombie();
        assert!(self.process.has_exited());
        assert_eq!(self.process.cause(), cause);
        self.child.wait().unwrap();
        assert!(self.process.has_exited());
        match self.process.cause() {
            ExitCause::Unknown if !kernel_remembers() => {}
            told => assert_eq!(told, cause),
        }
    }
}

/// From 6.15 on the kernel tells how a process has ended that nobody can wait for any more.
fn kernel_remembers() -> bool {
    let uname = rustix::system::uname();
    let release = uname.release().to_str().unwrap();
    let mut numbers = release
        .split(['.', '-'])
        .map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(6), Some(15))
}

#[test]
fn exit_statuses_are_told() {
    for (role, status) in [("exit", 3), ("exit 0", 0), ("exit from a thread", 4)] {
        let peer = peer(role);
        peer.order();
        peer.expect(ExitCause::Exited(status));
    }
}

#[test]
fn signals_are_told() {
    let mut killed = peer("exit");
    killed.child.kill().unwrap();
    killed.expect(ExitCause::Killed(libc::SIGKILL));

    let aborted = peer("abort");
    aborted.order();
    aborted.expect(ExitCause::Killed(libc::SIGABRT));
}

#[test]
fn the_cause_is_known_soon_after_the_end_of_the_socket() {
    let mut peer = peer("exit");
    peer.order();
    peer.wait_for_socket();
    // It may take the child longer than one call waits until it is gone.
    let cause =
        std::iter::repeat_with(|| peer.process.cause()).find(|cause| *cause != ExitCause::Unknown);
    assert_eq!(cause, Some(ExitCause::Exited(3)));
    peer.child.wait().unwrap();
}

#[test]
fn a_process_that_only_closes_its_socket_lives() {
    let mut peer = peer("close");
    assert!(!peer.process.has_exited());
    peer.order();
    peer.wait_for_socket();
    assert!(!peer.process.has_exited());
    assert_eq!(peer.process.cause(), ExitCause::Unknown);
    peer.child.kill().unwrap();
    peer.child.wait().unwrap();
}

#[test]
fn a_process_that_was_gone_before_we_looked() {
    let mut peer = peer("exit");
    peer.order();
    peer.child.wait().unwrap();
    // Kernels differ in whether they still give us a pidfd; none of them may fail us.
    let late = PeerProcess::open(&peer.sock, None).unwrap();
    if late.as_fd().is_some() {
        assert!(late.has_exited());
    }
}

#[test]
fn our_own_pidfd_says_that_we_live() {
    let pidfd = own_pidfd().unwrap().unwrap();
    let (sock, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let ourselves = PeerProcess::open(&sock, Some(pidfd)).unwrap();
    assert!(ourselves.as_fd().is_some());
    assert!(!ourselves.has_exited());
}
