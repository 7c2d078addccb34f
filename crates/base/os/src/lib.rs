//! What BCL asks of the machine: a library in a process that is not its own, memory that others map, and waiting.
//!
//! In somebody else's process: the program may fork at any moment, in any thread, and what the child inherits is its
//! parent's.
//!
//! - [`process`]: what tells this process from its children, and from whoever has its number or its address space after it;
//! - [`fork`]: keeping forks off for a moment, and what happens in the child;
//! - [`fd`]: [`Fd`], a descriptor that children close. All descriptors of the library are that;
//! - [`mod@file`]: files that are read without leaving them to children;
//! - [`random()`]: numbers that nobody can guess;
//! - [`ready`]: whether descriptors are readable;
//! - [`per_process`]: [`PerProcess`], a static of which each process has its own;
//! - [`cancel`]: no call of the library is a cancellation point; [`without_signals`]: a thread that handles none of the program's.
//!
//! Memory that other processes write at any moment, and how a receiver sleeps without costing the sender anything:
//!
//! - [`memfd`] and [`mapping`]: how it is had and mapped; [`bpf_map`]: that of an interface program;
//! - [`mod@copy`]: copying, wherever it lies;
//! - [`sync`]: the one home of BCL's atomics, for which loom stands in;
//! - [`sleep`], [`fence`], [`bell`], [`futex`] and [`wait`]: falling asleep, being woken, and when to do so.

pub mod bell;
pub mod bpf_map;
pub mod cancel;
pub mod copy;
pub mod fd;
pub mod fence;
pub mod file;
pub mod fork;
pub mod futex;
pub mod mapping;
pub mod memfd;
pub mod per_process;
pub mod process;
mod random;
pub mod ready;
mod room;
mod signals;
pub mod sleep;
pub mod sync;
mod threads;
pub mod wait;

pub use copy::copy;
pub use fd::Fd;
pub use per_process::PerProcess;
pub use random::random;
pub use threads::without_signals;
