//! What an enabled endpoint has: an endpoint of the middle layer, and where its completions go.

use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::sync::Arc;

use bcl_adi::{Completion, Ended, Endpoint, Error, SharedEndpoint};
use bcl_os::Fd;
use bcl_types::Address;

use super::bound::End;
use crate::abi::*;
use crate::av::Addresses;
use crate::call::Failure;
use crate::cntr::Tally;
use crate::cq::{Sink, queue};
use crate::lock::Lock;
use crate::name::Secret;
use crate::progress::{Driver, Drivers};
use crate::wait::no_descriptor;

/// The space of messages without tags.
pub const MESSAGES: u8 = 0;
/// That of messages with tags.
pub const TAGGED: u8 = 1;

/// Marks of operations: a completion is wanted.
pub const WANTED: u8 = 1;
/// ... and it is a multi-receive buffer.
pub const MULTI: u8 = 2;
/// What an atomic operation has found is wanted.
pub const FETCHES: u8 = 4;

/// Completions that are told of in one look.
const LOOK_MAX: usize = 64;

/// See above.
pub(super) struct Data {
    pub port: Port,
    /// Of the port, for its name.
    pub secret: Option<Secret>,
    pub addresses: Addresses,
    pub sends: End,
    pub receives: End,
    pub reads: Option<Tally>,
    pub writes: Option<Tally>,
    /// Completions say from whom a message is.
    pub wants_sources: bool,
    pub lookers: Vec<Arc<Drivers>>,
    /// Messages that were claimed, by context.
    pub claims: Lock<HashMap<usize, u64>>,
    /// Peers of whose loss something was said.
    pub mourned: Lock<HashSet<Address>>,
}

/// The endpoint of the middle layer.
pub(super) enum Port {
    /// That goes on in calls only.
    Alone(Box<Lock<Endpoint>>),
    /// That a thread looks after.
    LookedAfter(SharedEndpoint),
}

impl Port {
    /// Does something with it.
    #[inline]
    pub fn with<R>(
        &self,
        body: impl FnOnce(&mut Endpoint) -> Result<R, Error>,
    ) -> Result<R, Error> {
        match self {
            Self::Alone(endpoint) => endpoint.with(body),
            Self::LookedAfter(endpoint) => endpoint.with(body),
        }
    }
}

impl Driver for Data {
    #[inline]
    fn drive(&self) {
        let room_of = |end: &End| end.sink.as_ref().map_or(LOOK_MAX, |sink| sink.room());
        let room = || {
            room_of(&self.sends)
                .min(room_of(&self.receives))
                .min(LOOK_MAX)
        };
        // An error is that of the port as a whole, and the next operation has it too.
        let _ = self
            .port
            .with(|endpoint| endpoint.look(room, |completion| self.tell(completion)));
    }

    fn descriptor(&self) -> Result<Fd, Failure> {
        let copy = self.port.with(|endpoint| {
            let descriptor = endpoint.fd()?;
            Ok(Fd::second(descriptor))
        });
        copy.map_err(|error| Failure::new(FI_EIO, error.to_string()))?
            .map_err(no_descriptor)
    }
}

impl Data {
    /// Where an operation ends: a queue, and a counter.
    fn end(&self, ended: &Completion) -> (Option<&Sink>, Option<&Tally>) {
        let (end, tally) = match ended.kind {
            Ended::Send => (&self.sends, &self.sends.tally),
            Ended::Receive => (&self.receives, &self.receives.tally),
            Ended::Get => (&self.sends, &self.reads),
            Ended::Put => (&self.sends, &self.writes),
            Ended::Atomic => (&self.sends, self.tally_of_atomics(ended.mark)),
            Ended::Written => (&self.receives, &None),
            // An entry without a context would be taken for one of the program's operations: it is only said.
            Ended::Lost => return (None, None),
        };
        (end.sink.as_ref(), tally.as_ref())
    }

    /// What counts an atomic operation with this mark.
    pub fn tally_of_atomics(&self, mark: u8) -> &Option<Tally> {
        match mark & FETCHES {
            0 => &self.writes,
            _ => &self.reads,
        }
    }

    /// Tells the queue and the counter of what has ended.
    #[inline]
    fn tell(&self, ended: &Completion) {
        let (sink, tally) = self.end(ended);
        match ended.result {
            Ok(()) => {
                let is_wanted = ended.mark & WANTED != 0 || ended.kind == Ended::Written;
                if let (Some(sink), true) = (sink, is_wanted) {
                    sink.push(self.completion(ended));
                }
                if let Some(tally) = tally {
                    tally.count();
                }
            }
            Err(error) => self.tell_failed(sink, tally, ended, error),
        }
    }

    #[inline]
    pub(super) fn completion(&self, ended: &Completion) -> queue::Completion {
        let what = match ended.space {
            MESSAGES => FI_MSG,
            _ => FI_TAGGED,
        };
        let mut flags = match ended.kind {
            Ended::Send => what | FI_SEND,
            Ended::Receive => what | FI_RECV,
            Ended::Put => FI_RMA | FI_WRITE,
            Ended::Get => FI_RMA | FI_READ,
            Ended::Atomic if ended.mark & FETCHES != 0 => FI_ATOMIC | FI_READ,
            Ended::Atomic => FI_ATOMIC | FI_WRITE,
            Ended::Written => FI_RMA | FI_REMOTE_WRITE,
            Ended::Lost => 0,
        };
        if ended.data.is_some() {
            flags |= FI_REMOTE_CQ_DATA;
        }
        let is_multi = ended.mark & MULTI != 0;
        if is_multi && ended.released {
            flags |= FI_MULTI_RECV;
        }
        queue::Completion {
            context: ended.context as *mut c_void,
            flags,
            len: ended.len_bytes as usize,
            buf: if is_multi {
                ended.start as *mut c_void
            } else {
                std::ptr::null_mut()
            },
            data: ended.data.unwrap_or(0),
            tag: ended.tag,
            source: match ended.kind {
                Ended::Receive | Ended::Written if self.wants_sources => {
                    self.addresses.place_of(ended.peer)
                }
                _ => FI_ADDR_NOTAVAIL,
            },
        }
    }
}
