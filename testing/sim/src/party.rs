//! What a world asks of an implementation of the protocol: one port of one process.
//!
//! The worlds and their oracle are written against this, so that they can be tried on an implementation that is known
//! to be wrong: a checker that cannot fail proves nothing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

use crate::Traffic;
use crate::oracle::{Life, Seat, Violation};

/// The keys of the ports of a job, as its launcher tells them to all: of each seat that of its latest process.
pub type Keys = Rc<RefCell<BTreeMap<Seat, [u8; 32]>>>;

/// What a process knows when it begins.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Which port it has.
    pub seat: Seat,
    /// Which process of the seat it is.
    pub life: Life,
    /// The addresses of all seats, its own included.
    pub addresses: Vec<SocketAddr>,
    /// What its program does, if the party has one of its own.
    pub traffic: Traffic,
    /// The key of its port.
    pub key: [u8; 32],
    /// Those of the ports of its job, where each has its own.
    pub keys: Keys,
    /// Whatever the process has to draw, it draws from this.
    pub seed: u64,
    /// After how long a silent peer is taken for dead.
    pub dead_after_ns: u64,
    /// The longest datagram that its host's network card takes.
    pub datagram_bytes: u16,
    /// How long its window is; it holds zeros at first.
    pub window_bytes: usize,
    /// Whether the hosts of this world may have an interface program, each by its seed.
    pub interfaces: bool,
}

/// What becomes of a datagram before the process has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interception {
    /// It goes to the process's socket.
    Pass,
    /// It does not, and this goes back to where it came from.
    Taken(Option<Vec<u8>>),
}

/// What a program asks for. `op` names the operation in the event that ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// A system message; its end says only that it was copied, or that it will not arrive.
    System {
        /// The operation.
        op: u64,
        /// What it holds.
        bytes: Vec<u8>,
    },
    /// A message that may be lost; it has no end.
    Unreliable {
        /// What it holds.
        bytes: Vec<u8>,
    },
    /// A message on a normal channel.
    Normal {
        /// The operation.
        op: u64,
        /// On which channel.
        channel: u16,
        /// What it holds.
        bytes: Vec<u8>,
    },
    /// A write into the peer's window.
    Put {
        /// The operation.
        op: u64,
        /// Where.
        offset: u64,
        /// What.
        bytes: Vec<u8>,
    },
    /// A read from the peer's window.
    Get {
        /// The operation.
        op: u64,
        /// Where.
        offset: u64,
        /// How much.
        len_bytes: usize,
    },
    /// Adds 1 to a word of the peer's window.
    Add {
        /// The operation.
        op: u64,
        /// Where.
        offset: u64,
    },
    /// Compares and swaps a word of the peer's window.
    Swap {
        /// The operation.
        op: u64,
        /// Where.
        offset: u64,
        /// What is thought to be there.
        compare: u64,
        /// What is to be there then.
        new: u64,
    },
}

/// Why an operation failed, as far as worlds care.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The message is longer than the buffer that it met.
    Truncated,
    /// The program has taken it back.
    Canceled,
    /// Anything that has to do with the peer being gone, or not being there, in words.
    Peer(String),
}

/// Something that a process is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A system message, reliable or not, which has to be released.
    Message {
        /// From whom.
        from: Seat,
        /// Its name, until it is released.
        message: u64,
        /// What it holds.
        bytes: Vec<u8>,
    },
    /// A message on a normal channel has met a post, or waits for one.
    Arrived {
        /// From whom.
        from: Seat,
        /// On which channel.
        channel: u16,
        /// Its name, until it is over.
        message: u64,
        /// How long it is.
        len_bytes: u64,
        /// Whether it has to be accepted yet.
        waits: bool,
    },
    /// A message on a normal channel is over.
    Received {
        /// Its name.
        message: u64,
        /// What it holds.
        result: Result<Vec<u8>, Failure>,
    },
    /// A message that waited is gone with its sender.
    Withdrawn {
        /// Its name.
        message: u64,
    },
    /// An operation is over: the value that an atomic found, and the bytes that a get brought.
    Ended {
        /// Which.
        op: u64,
        /// What came of it.
        result: Result<(u64, Vec<u8>), Failure>,
    },
    /// A connection is up.
    PeerUp(Seat),
    /// A connection is gone, and why.
    PeerGone(Seat, String),
    /// A program of the party's own was told something, in words.
    Own(String),
    /// Something that it had to do with a peer has failed as if the peer were gone.
    Failed(Seat, String),
    /// It was told what cannot be.
    Wrong(String),
}

/// How much an implementation holds at this moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// All memory that grows and shrinks.
    pub bytes: usize,
    /// Connections of which it keeps a state.
    pub connections: usize,
    /// Operations and messages that are not over.
    pub waiting: usize,
    /// Memory in which messages and early packets lie.
    pub buffered_bytes: usize,
}

/// One port of one process. It is given the time and never asks for it.
pub trait Party: Sized {
    /// What all parties of a world know, beside what the network tells them: that is how those with programs of their own
    /// find out what is wrong.
    type Common: Default;

    /// A process begins.
    fn start(now_ns: u64, setup: &Setup, common: &Self::Common) -> Self;

    /// A datagram has come.
    fn handle(&mut self, now_ns: u64, from: SocketAddr, bytes: &mut [u8]);

    /// A datagram has come to the host, whether the process runs or not.
    fn intercept(&mut self, _now_ns: u64, _from: SocketAddr, _bytes: &[u8]) -> Interception {
        Interception::Pass
    }

    /// Whether there is something for the process of what was taken by [`intercept`](Self::intercept).
    fn has_records(&mut self) -> bool {
        false
    }

    /// The process looks at the first of that; false if it has no room for it.
    fn handle_record(&mut self, _now_ns: u64) -> bool {
        false
    }

    /// What others say to peers when the process has been killed.
    fn last_words(&self) -> Vec<(SocketAddr, Vec<u8>)> {
        Vec::new()
    }

    /// The next datagram to send, and where to.
    fn transmit(&mut self, now_ns: u64) -> Option<(SocketAddr, Vec<u8>)>;

    /// When something has to be done though nothing comes.
    fn next_timeout_ns(&mut self) -> Option<u64>;

    /// That time has come.
    fn on_timeout(&mut self, now_ns: u64);

    /// The program asks for something.
    fn request(&mut self, now_ns: u64, to: Seat, request: Request);

    /// The program wants a message on a normal channel back; true if it has it, and nobody else ever will.
    fn cancel(&mut self, _now_ns: u64, _to: Seat, _op: u64) -> bool {
        false
    }

    /// The program gives a buffer to whatever comes next on `channel`.
    fn post(&mut self, now_ns: u64, channel: u16, capacity_bytes: usize);

    /// The program gives a buffer to a message that waits.
    fn accept(&mut self, now_ns: u64, message: u64, capacity_bytes: usize);

    /// The program is done with a system message.
    fn release(&mut self, now_ns: u64, message: u64);

    /// The program closes the port; its process goes on until it [is drained](Self::is_drained).
    fn close(&mut self, now_ns: u64);

    /// Whether all peers know that it has closed.
    fn is_drained(&self) -> bool;

    /// The name service says where the host of `seat` is now.
    fn moved(&mut self, seat: Seat, address: SocketAddr);

    /// The next thing that the program is told, which looks now.
    fn news(&mut self, now_ns: u64) -> Option<News>;

    /// What lies in a word of the window.
    fn window_word(&self, index: usize) -> u64;

    /// How much it holds.
    fn held(&self) -> Held;

    /// Whether a program of its own has no wishes left.
    fn is_idle(&self) -> bool {
        true
    }

    /// What such a program still waits for, in words.
    fn unfinished(&self) -> String {
        String::new()
    }

    /// Whether it is as it should be when all is over.
    fn check_end(&self) -> Result<(), Violation> {
        Ok(())
    }

    /// A datagram in words, for time lines.
    fn describe(bytes: &[u8]) -> String;
}
