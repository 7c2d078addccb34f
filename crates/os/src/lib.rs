//! What a library has to see to in a process that is not its own: the program may fork at any moment, in any thread, and
//! what the child inherits is its parent's.
//!
//! - [`process`]: what tells this process from its children, and from whoever has its number or its address space after it;
//! - [`fork`]: keeping forks off for a moment, and what happens in the child;
//! - [`fd`]: [`Fd`], a descriptor that children close. All descriptors of the library are that;
//! - [`mod@file`]: files that are read without leaving them to children;
//! - [`random()`]: numbers that nobody can guess;
//! - [`per_process`]: [`PerProcess`], a static of which each process has its own.

pub mod fd;
pub mod file;
pub mod fork;
pub mod per_process;
pub mod process;
mod random;

pub use fd::Fd;
pub use per_process::PerProcess;
pub use random::random;
