//! The interface program's own tables.
//!
//! Read [`start`] (what an earlier agent has left is opened, or all is made anew) and [`entries`] (what is entered and
//! removed), [`places`] (interfaces that come and go), [`state`] (how a connection is told back) and [`check`] (what may keep it from working).

mod check;
mod entries;
mod places;
mod start;
mod state;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use bcl_layout::tables::{ConnectionKey, PortKey};
use bcl_mcp::Mcp;
use rustix::thread::CapabilitySet;

use crate::start::Backend;
use places::Place;

/// The tables in the kernel, for `bcld`.
pub const BACKEND: Backend = Backend {
    needs: CapabilitySet::BPF
        .union(CapabilitySet::NET_ADMIN)
        .union(CapabilitySet::PERFMON),
    prepare: start::prepare,
    open: start::open,
    check: check::findings,
};

/// The tables in the kernel, with the interface program attached to interfaces.
struct Kernel {
    mcp: Mcp,
    /// Where all is pinned.
    folder: PathBuf,
    places: Vec<Place>,
    /// Where packets of a port go.
    addresses: BTreeMap<u32, PortKey>,
    /// Counters of each port; pinned as well, for a map cannot be found by number without CAP_SYS_ADMIN.
    statistics: BTreeMap<u32, OwnedFd>,
    /// Something was removed that a packet may be using still ([`Kernel::await_packets`]).
    may_be_in_use: bool,
    /// Connections whose outcomes are removed when no packet uses them any more.
    retired: Vec<ConnectionKey>,
}
