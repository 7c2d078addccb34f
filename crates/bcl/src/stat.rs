//! Looking at the ports of a node from outside: their counters lie in mapped memory, and reading disturbs nobody.

pub use bcl_device::stat::{Attached, StatError, attach};
pub use bcl_shm::page::{Connection, Counter, Identity};
