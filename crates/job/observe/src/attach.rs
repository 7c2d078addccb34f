//! The page of a live port, mapped read-only.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bcl_node::handshake::{Client, MAX_MESSAGE_BYTES, Nonce, Purpose};
use bcl_node::{Folder, JobKey, fdpass, peer_credentials};
use bcl_os::memfd;
use bcl_os::ready::wait_for;
use bcl_os::sync::Ordering;
use bcl_tier::CopyCost;
use bcl_tier::page::{Connection, Counter, Identity, PAGE_LEN, Page};
use bcl_types::Address;

use crate::numbers::Numbers;

/// How long a port's background thread may take to answer; a stopped process never does.
const PATIENCE: Duration = Duration::from_millis(500);

/// Why the counters of a port cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StatError {
    /// The port is not there, or not ours to look at.
    #[error("{0}")]
    Unreachable(#[from] bcl_node::ConnectError),
    /// It does not answer.
    #[error("port {0} does not answer: is its process stopped (state T in ps)?")]
    Silent(Address),
    /// It refuses.
    #[error(
        "port {address} shows its counters only to its own user and to those in its BCL_ALLOW_UIDS: {reason}"
    )]
    Refused {
        /// The port.
        address: Address,
        /// What it said.
        reason: String,
    },
    /// It answers nonsense.
    #[error(
        "port {0} answers with something that is not a page of counters: is it another version of BCL?"
    )]
    Nonsense(Address),
}

/// A port's page, mapped read-only. Stays readable after the port is gone; the numbers then stand still.
#[derive(Debug)]
pub struct Attached {
    page: Page,
    identity: Identity,
}

impl Attached {
    /// Whose page it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// One counter, now.
    pub fn read(&self, counter: Counter) -> u64 {
        self.page.counter(counter).load(Ordering::Relaxed)
    }

    /// All counters, now.
    pub fn numbers(&self) -> Numbers {
        Numbers::of(|counter| self.read(counter))
    }

    /// Its connections to other nodes.
    pub fn connections(&self) -> impl Iterator<Item = Connection> + '_ {
        self.page.connections()
    }

    /// What the ways that long messages take within the node have cost its process, for each class of lengths.
    pub fn copy_costs(&self) -> impl Iterator<Item = CopyCost> + '_ {
        self.page.copy_costs()
    }

    /// Whether the port sleeps at this moment.
    pub fn is_asleep(&self) -> bool {
        self.page.sleep_epoch().load(Ordering::Relaxed) & 1 == 1
    }
}

/// Maps the page of a port. Only its background thread is asked, once; the program is not disturbed.
pub fn attach(folder: &Folder, address: Address) -> Result<Attached, StatError> {
    let sock = folder.connect(address)?;
    let nonsense = || StatError::Nonsense(address);
    let uid = peer_credentials(&sock).map_err(|_| nonsense())?.uid;
    let me = Address {
        node: address.node,
        port: 0,
    };
    let nonce = Nonce::random().map_err(|_| nonsense())?;
    let (mut client, hello) =
        Client::start(&JobKey::of_user(uid), Purpose::Stat, me, address, nonce);
    let silent = |_| StatError::Silent(address);
    fdpass::send(&sock, &hello, &[]).map_err(silent)?;
    let refused = |failure: bcl_node::handshake::Failure| StatError::Refused {
        address,
        reason: failure.to_string(),
    };

    let mut buffer = [0; MAX_MESSAGE_BYTES];
    let (len, _) = receive(&sock, &mut buffer).ok_or(StatError::Silent(address))?;
    let proof = client
        .on_challenge(&buffer[..len])
        .map_err(refused)?
        .prove(&[]);
    fdpass::send(&sock, &proof, &[]).map_err(silent)?;
    let (len, fds) = receive(&sock, &mut buffer).ok_or(StatError::Silent(address))?;
    client.on_welcome(&buffer[..len]).map_err(refused)?;
    let fd = fds.into_iter().next().ok_or_else(nonsense)?;
    let page = Page::new(memfd::adopt(fd.as_fd(), PAGE_LEN, false).map_err(|_| nonsense())?);
    let identity = page.identity().ok_or_else(nonsense)?;
    Ok(Attached { page, identity })
}

fn receive(sock: &bcl_os::Fd, buffer: &mut [u8]) -> Option<(usize, Vec<bcl_os::Fd>)> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match fdpass::recv(sock, buffer) {
            Ok(received) if received.len_bytes > 0 => {
                return Some((received.len_bytes, received.fds));
            }
            Err(fdpass::FdPassError::WouldBlock) => {}
            _ => return None,
        }
        let left = deadline.checked_duration_since(Instant::now())?;
        let _ = wait_for([sock.as_fd()], Some(left));
    }
}
