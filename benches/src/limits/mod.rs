//! What the machine can do at best: the marks that no library can pass.

mod brief;
pub mod cache_line;
pub mod memcpy;
pub mod probe;
pub mod sockets;
pub mod table;
pub mod vm_readv;
