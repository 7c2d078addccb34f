//! One-sided operations ([ADI-8]): `asking` begins them, `serving` does them for a peer, `replying` says so to it, and
//! `answered` ends them. What is long goes as a body, as announced messages do.

mod answered;
mod asking;
mod replying;
mod serving;

pub use asking::{OneSided, What};
pub use replying::Reply;

use bcl_raw::QUEUE_DEPTH;

use crate::completion::Ended;
use crate::memory::Memory;

/// Requests to one peer that have not ended.
const REQUESTS_MAX: usize = 256;
/// Bodies under way for a peer's requests: as many, and those of whose end our port has not told us yet.
const SERVED_MAX: u32 = (2 * QUEUE_DEPTH) as u32;

/// An operation that has no answer yet.
#[derive(Debug)]
pub struct Request {
    pub kind: Ended,
    /// Where what is found goes, if that is wanted.
    pub memory: Option<Memory>,
    pub len_bytes: u64,
    pub context: u64,
    pub mark: u8,
    pub quiet: bool,
}
