//! Looking at the ports of a node from outside: their counters lie in mapped memory, and reading disturbs nobody.

pub use bcl_tier::page::{Connection, Counter, Identity};
pub use bcl_tier_shm::stat::{Attached, StatError, attach};
