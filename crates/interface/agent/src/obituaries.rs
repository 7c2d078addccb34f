//! Peers are told of a port that has ended without a word of its own ([AGENT-7.3], [WIRE-12.7]).
//!
//! The line of a process ends a moment before the kernel says how the process has: so each port waits here until that is
//! known, and then until its peers have been told often enough.

use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use bcl_daemon::has_ended;
use bcl_node::watch::known_cause;
use bcl_types::Cause;
use bcl_wire::{End, HEADER_LEN, gone_packet, udp_port};

use crate::LOG;
use crate::tables::Peer;

/// For so long a process may live on after its port's end before the port counts as closed.
const LIVES_ON: Duration = Duration::from_millis(100);
/// For so long how a process has ended may stay unknown: until its parent has waited for it, the kernel may not tell, and
/// before Linux 6.15 not after that, either.
const UNKNOWN_FOR: Duration = Duration::from_millis(10);
/// Until it is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// When the peers are told, after the first time: packets may be lost.
const TOLD_AGAIN: [Duration; 4] = [
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(75),
    Duration::from_millis(200),
];

/// A port that has ended.
pub struct Deceased {
    /// Its address.
    pub node: Ipv4Addr,
    /// Its number.
    pub number: u16,
    /// Of its process; without it nothing will be known.
    pub pidfd: Option<OwnedFd>,
    /// Connections that it has not ended, by its own number of each.
    pub peers: Vec<(u32, Peer)>,
}

/// Ports whose peers are still to be told.
#[derive(Default)]
pub struct Obituaries(Vec<Obituary>);

struct Obituary {
    of: Deceased,
    since: Instant,
    /// When there is something to do next.
    at: Instant,
    telling: Option<Telling>,
}

/// From when it is known what to tell.
struct Telling {
    cause: Cause,
    socket: UdpSocket,
    /// How often all were told.
    rounds: usize,
    /// How many were told this time.
    done: usize,
}

impl Obituaries {
    /// The peers of this port are to be told, from now on.
    pub fn add(&mut self, now: Instant, of: Deceased) {
        if !of.peers.is_empty() {
            self.0.push(Obituary {
                of,
                since: now,
                at: now,
                telling: None,
            });
        }
    }

    /// When there is something to do.
    pub fn next_at(&self) -> Option<Instant> {
        self.0.iter().map(|obituary| obituary.at).min()
    }

    /// Whether somebody has not been told yet.
    pub fn are_urgent(&self) -> bool {
        self.0.iter().any(|obituary| obituary.telling.is_none())
    }

    /// Tells whom it is time to tell.
    pub fn on_time(&mut self, now: Instant) {
        self.0
            .retain_mut(|obituary| obituary.at > now || obituary.goes_on(now));
    }
}

impl Obituary {
    /// Does what is to be done now. False: that was all.
    fn goes_on(&mut self, now: Instant) -> bool {
        if self.telling.is_none() {
            let Some(cause) = self.of.cause(now.duration_since(self.since)) else {
                self.at = now + LOOK_AGAIN;
                return true;
            };
            match Telling::new(self.of.node, cause) {
                Ok(telling) => self.telling = Some(telling),
                Err(error) => {
                    let (node, number) = (self.of.node, self.of.number);
                    LOG.note(format_args!(
                        "cannot tell the peers of port {node}:{number} of its end: {error}"
                    ));
                    return false;
                }
            }
        }
        let pause = self
            .telling
            .as_mut()
            .and_then(|telling| telling.tell(&self.of));
        pause.is_some_and(|pause| {
            self.at = now + pause;
            true
        })
    }
}

impl Deceased {
    /// How it has ended, if that is known `after` its end or will never be.
    fn cause(&self, after: Duration) -> Option<Cause> {
        let Some(pidfd) = &self.pidfd else {
            return Some(Cause::Vanished);
        };
        if !has_ended(pidfd) {
            return (after >= LIVES_ON).then_some(Cause::Closed);
        }
        let known = known_cause(pidfd.as_fd()).map(Cause::from);
        known.or((after >= UNKNOWN_FOR).then_some(Cause::Vanished))
    }

    fn packet(&self, cause: Cause, id: u32, peer: &Peer) -> Option<[u8; HEADER_LEN]> {
        let from = End {
            connection: id,
            port: self.number,
        };
        let to = End {
            connection: peer.connection,
            port: udp_port::to_port(peer.at.port())?,
        };
        Some(gone_packet(cause, from, to, &peer.key))
    }
}

impl Telling {
    /// By a socket of its own: the port's may be a new port's by now.
    fn new(node: Ipv4Addr, cause: Cause) -> io::Result<Self> {
        let socket = UdpSocket::bind((IpAddr::V4(node), 0))?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            cause,
            socket,
            rounds: 0,
            done: 0,
        })
    }

    /// Tells all once more. Until when to wait then, if they are to be told again.
    fn tell(&mut self, of: &Deceased) -> Option<Duration> {
        for (id, peer) in &of.peers[self.done..] {
            if let Some(packet) = of.packet(self.cause, *id, peer) {
                match self.socket.send_to(&packet, peer.at) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        return Some(LOOK_AGAIN);
                    }
                    // It may be the kernel's answer to an earlier one.
                    _ => {}
                }
            }
            self.done += 1;
        }
        self.done = 0;
        let pause = TOLD_AGAIN.get(self.rounds).copied();
        self.rounds += 1;
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    use bcl_wire::{CheckKey, parse};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    const KEY: [u8; 16] = [3; 16];

    /// A port whose one peer is the socket that comes with it.
    fn deceased(pidfd: Option<OwnedFd>) -> (Deceased, UdpSocket) {
        let mut sockets =
            udp_port::ALL.filter_map(|port| UdpSocket::bind(("127.0.0.1", port)).ok());
        let socket = sockets.next().unwrap();
        let peer = Peer {
            at: socket.local_addr().unwrap(),
            connection: 7,
            key: CheckKey::from_bytes(&KEY),
        };
        let of = Deceased {
            node: Ipv4Addr::LOCALHOST,
            number: 5,
            pidfd,
            peers: vec![(9, peer)],
        };
        (of, socket)
    }

    fn child(script: &str) -> (Child, OwnedFd) {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty());
        (child, pidfd.unwrap())
    }

    /// What the peer is told, each time.
    fn told(of: Deceased, socket: &UdpSocket) -> Vec<Cause> {
        let mut obituaries = Obituaries::default();
        let mut now = Instant::now();
        obituaries.add(now, of);
        while let Some(at) = obituaries.next_at() {
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            now = now.max(at);
            obituaries.on_time(now);
        }
        socket.set_nonblocking(true).unwrap();
        let mut causes = Vec::new();
        let mut packet = [0; 100];
        while let Ok((len, _)) = socket.recv_from(&mut packet) {
            let cause = parse(&packet[..len]).unwrap().0.cause();
            let from = End {
                connection: 9,
                port: 5,
            };
            let to = End {
                connection: 7,
                port: udp_port::to_port(socket.local_addr().unwrap().port()).unwrap(),
            };
            let sealed = gone_packet(cause, from, to, &CheckKey::from_bytes(&KEY));
            assert_eq!(packet[..len], sealed);
            causes.push(cause);
        }
        causes
    }

    #[test]
    fn peers_are_told_five_times_how_a_process_has_ended() {
        for (script, cause) in [
            ("exit 3", Cause::Exited(3)),
            ("kill -9 $$", Cause::Killed(9)),
        ] {
            let (mut child, pidfd) = child(script);
            let (of, socket) = deceased(Some(pidfd));
            assert_eq!(told(of, &socket), [cause; 5], "{script}");
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_port_whose_process_lives_on_was_closed() {
        let (mut child, pidfd) = child("exec sleep 60");
        let (of, socket) = deceased(Some(pidfd));
        assert_eq!(told(of, &socket), [Cause::Closed; 5]);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn of_a_process_that_is_not_there_nothing_is_known() {
        let (of, socket) = deceased(None);
        assert_eq!(told(of, &socket), [Cause::Vanished; 5]);
    }
}
