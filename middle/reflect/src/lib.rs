//! Reflective memory: a region that each of its members writes and all see (`spec/reflect.md`).
//!
//! ```no_run
//! use bcl_reflect::Options;
//!
//! # fn main() -> Result<(), bcl_reflect::Error> {
//! // In a job of `bcl run`, its processes are the members, by rank.
//! let region = Options::new("positions", 1 << 20).join()?;
//! let mine = u64::from(region.member()) * 64;
//! region.write(mine, b"what all are to see")?;
//! region.write_word(mine + 56, 1)?;
//! // Until member 0 has written something.
//! region.wait(56, 0, None)?;
//! # Ok(())
//! # }
//! ```
//!
//! A member's program writes by calls and reads as it likes. What else there is to do, a thread does: it hands the region to those who
//! join, and learns of members that end.
//!
//! Read on with [`Region`], what a program has; `segment`, the memory behind it, and `words`, how it is written and read; `wait`;
//! `life`, members that come and go; `seat`, how they find and watch each other.

mod error;
mod life;
mod net;
mod options;
mod region;
mod seat;
mod segment;
mod wait;
mod words;

pub use bcl_node::JobKey;
pub use error::Error;
pub use life::{Life, News};
pub use net::writing::Reached;
pub use options::{MEMBERS_MAX, NAME_MAX_BYTES, Options, REGION_MAX_BYTES, number_of_members};
pub use region::Region;
pub use seat::{Report, ReportedMember, ReportedNetwork, reports};
pub use wait::Waited;
