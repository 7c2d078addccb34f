//! Tests with real processes: what only happens between processes, and when one of them ends.

mod computing;
mod crowd;
mod death;
mod fork;
#[cfg(debug_assertions)]
mod fork_everywhere;
mod hostile;
mod leftovers;
mod limits;
mod long;
mod namespaces;
mod stopped;
mod syscalls;
mod threads;
mod traffic;
