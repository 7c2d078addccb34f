//! What an endpoint is told when it is made.

use bcl_types::{Address, LONG_SYSTEM_MAX, SYSTEM_MAX};
use bcl_wire::Answerer;

use bcl_types::Span;

/// Settings of an endpoint. [`Config::new`] gives the usual ones.
#[derive(Debug, Clone)]
pub struct Config {
    /// The port's own address.
    pub address: Address,
    /// Tells this port from those that had its address before: larger than theirs. The wall clock in
    /// nanoseconds will do.
    pub incarnation: u64,
    /// Where nonces and identifiers come from; different for each endpoint, and not to be guessed by others.
    pub seed: [u64; 2],
    /// After which silence a peer that owes an answer is given up.
    pub dead_after: Span,
    /// After which silence a peer that owes nothing is asked whether it is still there.
    pub idle_probe_after: Span,
    /// Longest datagram on a path that nothing else is known of, without the headers of UDP and IP.
    pub datagram_bytes: u16,
    /// Memory for messages that the program has not taken: system messages and short normal ones.
    pub pool_bytes: usize,
    /// Memory for packets that came before others that they have to wait for.
    pub stash_bytes: usize,
    /// Memory for copies of system messages to one peer whose sends are already complete.
    pub send_buffer_bytes: usize,
    /// Whether its program knows of long system messages, and so do those of its peers ([WIRE-6.8]).
    pub takes_long: bool,
    /// Normal messages of one peer that may wait for a buffer; more wait at the sender.
    pub waiting_max: u32,
    /// Length of the ring of the interface program that is to take this port's packets; 0 if there is none. The
    /// pool is to be twice as long at least ([MCP-6.4]).
    pub interface_ring_bytes: usize,
    /// Datagrams that were sent together may come to it as one, which it cannot read.
    pub interface_takes_singly: bool,
    /// It takes what comes in streams as well, which the socket may take faster ([MCP-1.6]).
    pub interface_keeps_streams: bool,
}

impl Config {
    /// Whether an interface program is to take this port's packets.
    pub fn has_interface(&self) -> bool {
        self.interface_ring_bytes > 0
    }

    /// Whether what of a peer's packets comes in a stream is left to the socket.
    pub fn leaves_streams(&self) -> bool {
        self.has_interface() && self.interface_takes_singly && !self.interface_keeps_streams
    }

    /// Longest system message that it takes. An interface program has no room for long ones.
    pub fn system_max(&self) -> usize {
        match self.takes_long && !self.has_interface() {
            true => LONG_SYSTEM_MAX,
            false => SYSTEM_MAX,
        }
    }

    /// Who answers for this port, as peers are told.
    pub fn answerer(&self) -> Answerer {
        match (self.has_interface(), self.interface_takes_singly) {
            (false, _) => Answerer::Program,
            (true, false) => Answerer::Interface,
            (true, true) => Answerer::SingleInterface,
        }
    }
}

impl Config {
    /// The usual settings.
    pub fn new(address: Address, incarnation: u64, seed: [u64; 2]) -> Self {
        Self {
            address,
            incarnation,
            seed,
            dead_after: Span::from_ms(3_000),
            idle_probe_after: Span::from_ms(10_000),
            datagram_bytes: 1472,
            pool_bytes: 4 << 20,
            stash_bytes: 256 << 10,
            send_buffer_bytes: 256 << 10,
            takes_long: false,
            waiting_max: 4096,
            interface_ring_bytes: 0,
            interface_takes_singly: false,
            interface_keeps_streams: false,
        }
    }
}
