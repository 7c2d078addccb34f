//! A port in a measurement: where its partners are, how it waits, and what it does with news of them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bcl::{Address, Event, NodeId, Port, QUIET, Which};

use crate::error::{Error, Result, system};
use crate::ours::rank::Arguments;
use crate::work::Kind;

/// Ports of a measurement are numbered from here, so that everyone knows everyone.
const FIRST_PORT: u16 = 1;

/// A process of a measurement with its port and its partners.
pub struct Player {
    /// Its port.
    pub port: Port,
    /// Which one of the processes it is.
    pub rank: usize,
    /// How many there are.
    pub ranks: usize,
    waiting: Waiting,
    /// Where the processes are, in turn.
    nodes: Vec<NodeId>,
    folder: PathBuf,
}

/// What to do until an event comes.
#[derive(Clone, Copy)]
enum Waiting {
    /// Look again at once: the quickest when each process has a core.
    Spinning,
    /// Leave it to [`Port::wait`], which notices when cores are short.
    Patient,
}

impl Player {
    /// Opens the port of the process described by `arguments`.
    ///
    /// # Errors
    /// When the port cannot be opened.
    pub fn open(arguments: &Arguments) -> Result<Self> {
        let waiting = match arguments.work.kind {
            Kind::Idle | Kind::Pairs | Kind::Streams { .. } | Kind::Barrier => Waiting::Patient,
            _ => Waiting::Spinning,
        };
        let (rank, nodes) = (arguments.rank, &arguments.nodes);
        Ok(Self {
            port: open_port(address_of(nodes, rank), &arguments.folder)?,
            rank,
            ranks: arguments.ranks,
            waiting,
            nodes: nodes.clone(),
            folder: arguments.folder.clone(),
        })
    }

    /// Another port of the same process, which takes part as `rank`.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn twin(&self, rank: usize) -> Result<Self> {
        Ok(Self {
            port: open_port(self.address_of(rank), &self.folder)?,
            rank,
            ranks: self.ranks,
            waiting: self.waiting,
            nodes: self.nodes.clone(),
            folder: self.folder.clone(),
        })
    }

    /// The address of the port of `rank`.
    pub fn address_of(&self, rank: usize) -> Address {
        address_of(&self.nodes, rank)
    }

    /// Says that this process is ready and returns when all are.
    ///
    /// # Errors
    /// When whoever measures is gone.
    pub fn begin(&self) -> Result<()> {
        let mut stdout = io::stdout();
        writeln!(stdout, "ready").map_err(system("tell", "whoever measures"))?;
        io::stdin()
            .read_line(&mut String::new())
            .map(drop)
            .map_err(system("wait for", "whoever measures"))
    }

    /// The next event that is not mere news of a peer.
    ///
    /// # Errors
    /// When a partner is lost.
    #[inline]
    pub fn next(&mut self, which: Which) -> Result<Event> {
        loop {
            let event = match self.waiting {
                Waiting::Spinning => self.port.poll(which)?,
                Waiting::Patient => self.port.wait(which, None)?,
            };
            match event {
                None | Some(Event::PeerUp { .. }) => {}
                Some(Event::PeerGone { peer, cause }) => return Err(Error::Lost { peer, cause }),
                Some(event) => return Ok(event),
            }
        }
    }

    /// Sends a message on the system channel.
    ///
    /// # Errors
    /// When BCL refuses it.
    #[inline]
    pub fn send(&mut self, to: Address, bytes: &[u8]) -> Result<()> {
        loop {
            match self.port.send_system(to, bytes, QUIET) {
                // The receiver is behind; looking for events makes room once it has caught up.
                Err(bcl::Error::QueueFull { .. }) => {
                    if let Some(event) = self.port.poll(Which::Send)? {
                        check_sent(event)?;
                    }
                }
                outcome => return Ok(outcome?),
            }
        }
    }

    /// The next message on the system channel, copied to the beginning of `into`; who sent it.
    ///
    /// # Errors
    /// When something else arrives or a send has failed.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> Result<Address> {
        loop {
            match self.next(Which::Any)? {
                Event::Message(message) => {
                    into[..message.len()].copy_from_slice(self.port.data(&message));
                    let from = message.from();
                    self.port.release(message)?;
                    return Ok(from);
                }
                other => check_sent(other)?,
            }
        }
    }
}

fn address_of(nodes: &[NodeId], rank: usize) -> Address {
    Address {
        node: nodes[rank % nodes.len()],
        port: FIRST_PORT + rank as u16,
    }
}

/// The rank whose port has this address.
pub fn rank_of(address: Address) -> usize {
    usize::from(address.port - FIRST_PORT)
}

/// For an event that nobody expected.
pub fn unexpected(expected: &'static str, event: &Event) -> Error {
    Error::Unexpected {
        expected,
        got: format!("{event:?}"),
    }
}

/// Quiet sends report their failures only.
fn check_sent(event: Event) -> Result<()> {
    match event {
        Event::Sent { result, .. } => Ok(result?),
        other => Err(unexpected("a message on the system channel", &other)),
    }
}

fn open_port(address: Address, folder: &Path) -> Result<Port> {
    let options = Port::options().number(address.port).node(address.node);
    Ok(options.folder(folder).open()?)
}
