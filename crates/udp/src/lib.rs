//! UDP sockets for a protocol above: batches without copies, path MTU, choice of interface.
//!
//! - [`Socket`]: sends batches of [`Datagram`]s and receives what the kernel has coalesced, each
//!   with one system call; what the network says in answer are [`Report`]s.
//! - [`mtu`]: how large a datagram may be on the way to a destination.
//! - [`route`]: by which interface a destination is reached, why, and what speaks against it.
//!
//! Nothing here knows what the datagrams mean. It is only assumed that each begins with a header
//! of [`HEADER_BYTES`], so that none is shorter.
//!
//! # What the system calls cost
//!
//! Measured on 2026-11-21 on one core of an Intel Xeon (Sapphire Rapids class), Linux 6.18,
//! loopback, 72 B, medians in ns. "Pair" is one send and the receipt of it on the same core, so that
//! only differences count.
//!
//! | call | ns |
//! |---|---:|
//! | getppid, the floor of any call | 86 |
//! | nothing there: recv, recvfrom | 121 |
//! | nothing there: read; poll; recvmsg; recvmmsg of 16 | 140; 161; 162; 195 |
//! | pair: send on a connected socket, recv | 905 |
//! | pair: send on a connected socket, recvfrom | 937 |
//! | pair: send on a connected socket, recvmsg (with control or without) | 1003 |
//! | pair: send on a connected socket, recvmmsg of 1; of 16 | 1029; 1126 |
//! | pair: sendto, recv | 999 |
//! | pair: sendmsg of two slices to an address, recv | 1065 |
//! | pair: sendmmsg of one message of two slices, recv | 1082 |
//! | 16 sends, then one recvmmsg of 16 | 15,265 |
//! | 16 sends, then 16 recvfrom | 15,368 |
//! | 16 sends, then 16 recvmsg | 16,266 |
//!
//! What follows from it:
//!
//! - One datagram that fits a small copy is sent by `sendto`; a batch by `sendmmsg`, whose cost
//!   over `sendmsg` (17 ns) is nothing beside that of a batch.
//! - A connected socket a peer would save 94 ns a send, but would also take that peer's packets
//!   away from the port's socket, so that every poll would have to look at two.
//! - Polling is `recvfrom`, at 41 ns less for a poll in vain and 66 ns less for one that finds
//!   something than `recvmsg`. It cannot tell where coalesced datagrams part: see [`Buffers`].
//! - `recvmmsg` buys nothing: it saves a trap (86 ns) and spends as much on its headers. What
//!   makes streams quick is `UDP_GRO`, up to 64 datagrams a call.
//! - SO_BUSY_POLL polls a network card's queue inside the call; it needs CAP_NET_ADMIN and does
//!   nothing on virtual interfaces: not used.

mod address;
pub mod mtu;
mod options;
pub mod route;
mod socket;

pub use socket::{
    BindError, Buffers, Datagram, HEADER_BYTES, Received, Report, SendError, Settings, Socket,
    Trouble,
};
