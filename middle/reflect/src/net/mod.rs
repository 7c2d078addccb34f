//! A region between hosts ([REFLECT-7] to [REFLECT-9]).
//!
//! On each host one of the members' processes *keeps* the region: it has a socket and a thread that brings what members of this host
//! write to other hosts, and puts what others write into the region. Members write to their logs in the segment, and ring if it
//! sleeps. When its process has ended, another one goes on ([REFLECT-8.6]).
//!
//! Read on with [`places`], where hosts are; [`shared`], what is in the segment; [`writing`], what a member does; [`wish`], becoming
//! one; [`keeping`], which process keeps the region; `begin` and `round`, what that does, on `memory`, `local` and `group`; [`desk`], which of its threads
//! does it.

mod begin;
pub mod desk;
mod group;
pub mod keeping;
mod local;
mod memory;
pub mod places;
pub mod report;
mod round;
pub mod shared;
mod sockets;
pub mod wish;
pub mod writing;

use bcl_types::Time;
use rustix::time::{ClockId, clock_gettime};

/// The same clock for all processes of a host.
fn now() -> Time {
    let now = clock_gettime(ClockId::Monotonic);
    Time(now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned())
}
