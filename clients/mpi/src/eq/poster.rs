//! The other side of an event queue: who tells of events.

use std::ffi::c_void;
use std::slice;
use std::sync::Arc;

use super::State;
use super::queue::{Event, Failed};
use crate::abi::*;
use crate::lock::Lock;
use crate::object::User;

/// It keeps the queue open.
pub struct Poster {
    pub(super) state: Arc<Lock<State>>,
    pub(super) _eq: User,
}

impl Poster {
    /// Something is done: `data` says of how much that is true.
    pub fn post(&self, kind: u32, fid: *mut fid, context: *mut c_void, data: u64) {
        let entry = fi_eq_entry { fid, context, data };
        // SAFETY: a structure without holes, as bytes.
        let bytes = unsafe {
            slice::from_raw_parts((&raw const entry).cast::<u8>(), size_of::<fi_eq_entry>())
        };
        let event = Event {
            kind,
            bytes: bytes.to_vec(),
        };
        self.state
            .change(|state| state.add(|queue| queue.push(event)));
    }

    /// Something has gone wrong.
    pub fn post_failed(&self, failed: Failed) {
        self.state
            .change(|state| state.add(|queue| queue.push_failed(failed)));
    }
}

impl std::fmt::Debug for Poster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Poster")
    }
}
