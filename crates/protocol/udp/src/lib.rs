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
//! And from core to core, 72 B between two network namespaces joined by veth, one way, both ends spinning,
//! lower third of 25 runs in turn:
//!
//! | sockets | ns |
//! |---|---:|
//! | bare: connected, send and recv | 2114 |
//! | connected, send and recvfrom | 2130 |
//! | ... and with `UDP_GRO` | 2290 |
//! | connected, with all other options of ours (buffers, `IP_RECVERR`, `IP_PMTUDISC_PROBE`) | 2119 |
//! | the same, not connected, sendto and recvfrom: **what is used here for lone small datagrams** | 2170 |
//! | ... and with `UDP_GRO` | 2296 |
//! | ... and a member of an epoll set, even with no event asked for (another run: 2398 against 2188) | +210 |
//! | a second socket at the same port, connected to the peer, looked at seven times of eight | 2136 |
//!
//! io_uring, in one run with bare sockets at 2057 ns: 2942 ns when the caller runs the completions
//! (`IORING_SETUP_DEFER_TASKRUN`), 19,300 ns when the kernel interrupts it for them.
//!
//! What follows from it:
//!
//! - `UDP_GRO` costs a lone datagram 126 ns, but carries up to 64 datagrams of a stream in one call: it is
//!   switched on when a stream comes and off when it is over.
//! - One datagram that fits a small copy is sent by `sendto`; a batch by `sendmmsg`, whose cost over
//!   `sendmsg` (17 ns) is nothing beside that of a batch.
//! - Polling is `recvfrom`, at 41 ns less for a poll in vain and 66 ns less for one that finds something than
//!   `recvmsg`, which is needed only for the size of what was coalesced.
//! - `recvmmsg` buys nothing: it saves a trap (86 ns) and spends as much on its headers.
//! - io_uring has to enter the kernel for each look as well, and does more there: not used.
//! - A connected socket saves 34 ns there. Where the kernel's indirect calls are slow it saves a fifth: 4.76 us against
//!   3.80 one way on an AMD EPYC with retpolines (2026-11-27, as in the second table, five runs in turn), half at each
//!   end, for the look-ups of routes. So a port has some for the peers that it talks to most:
//!   [`Socket::connect_beside`].
//! - SO_BUSY_POLL polls a network card's queue inside the call, also in one that does not wait. It needs CAP_NET_ADMIN or
//!   the administrator's `net.core.busy_read`, and is asked for; virtual interfaces have nothing to poll.

mod address;
pub mod mtu;
mod options;
pub mod route;
mod socket;

pub use socket::{
    BindError, Buffers, Datagram, HEADER_BYTES, Manner, Received, Report, SendError, Settings,
    Socket, Train, Trouble, Unfit, address_of,
};
