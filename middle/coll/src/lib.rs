//! Collective operations: what a group of processes does together (`spec/collectives.md`).
//!
//! ```no_run
//! use bcl_coll::{Atomic, Datum, Function, Team};
//!
//! # fn main() -> Result<(), bcl_coll::Error> {
//! // In a job of `bcl run`: all of its processes.
//! let team = Team::join(bcl_bbp::Options::new("solver"))?;
//! let all = team.everybody()?;
//! let mut residual = 0.25_f64.to_ne_bytes();
//! let sum = Atomic::new(Function::Sum, Datum::F64).expect("numbers have a sum");
//! all.allreduce(sum, &mut residual)?;
//! all.barrier()?;
//! # Ok(())
//! # }
//! ```
//!
//! They stand on a billboard (`bcl-bbp`), where a message to many is posted once: a broadcast is one post, and of a reduction all have the
//! result after two.
//!
//! Read on with [`Team`], the processes, and `mailbox`, their messages; [`Group`], some of them in an order, and what they do: `barrier`,
//! `moving` and `reducing`, and `hosts`, how that is between hosts; `header`, how messages find the call that they are for.

mod barrier;
mod error;
mod group;
mod header;
mod hosts;
mod mailbox;
mod moving;
mod reducing;
mod team;

pub use barrier::BarrierWay;
pub use bcl_adi::{Atomic, Datum, Function};
pub use error::{Broken, Error};
pub use group::{CONTEXT_MAX, Group};
pub use team::Team;
