//! Completion queues: `fi_cq_open`, `fi_cq_read` and all that.
//!
//! [`queue`] is what is in one, [`mod@format`] and [`error`] how it is handed out, and `calls` what
//! programs do with it.

mod calls;
pub mod error;
pub mod format;
pub mod queue;
#[cfg(test)]
mod tests;

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::abi::*;
use crate::call::{self, Failure};
use crate::domain::Domain;
use crate::lock::Lock;
use crate::object::{self, Object, User, Users, of};
use crate::progress::Drivers;
use crate::settings::{CQ_SIZE_MAX, Settings};
use crate::text_of_error::Texts;
use crate::wait::WaitObject;

use format::Format;
use queue::{Completion, Failed, Queue};

/// `fid_cq`
#[repr(C)]
pub struct Cq {
    fid: fid_cq,
    api_version: u32,
    format: Format,
    state: Arc<Lock<State>>,
    drivers: Arc<Drivers>,
    users: Users,
    _domain: User,
}

struct State {
    queue: Queue,
    wait: WaitObject,
    /// `fi_cq_signal` was called, and nobody has woken of it yet.
    signaled: bool,
    texts: Texts,
}

/// The other side: where operations complete. It keeps the queue open.
pub struct Sink {
    state: Arc<Lock<State>>,
    drivers: Arc<Drivers>,
    _cq: User,
}

static FID_OPS: fi_ops = fi_ops {
    control: Some(calls::control),
    ..object::only_close::<Cq>()
};
static OPS: fi_ops_cq = fi_ops_cq {
    size: size_of::<fi_ops_cq>(),
    read: Some(calls::read),
    readfrom: Some(calls::readfrom),
    readerr: Some(calls::readerr),
    sread: Some(calls::sread),
    sreadfrom: Some(calls::sreadfrom),
    signal: Some(calls::signal),
    strerror: Some(calls::strerror),
};

// SAFETY: it begins with a fid, and only it has this table.
unsafe impl Object for Cq {
    const CLASS: usize = FI_CLASS_CQ;
    const NAME: &'static str = "completion queue";

    fn ops() -> &'static fi_ops {
        &FID_OPS
    }

    fn users(&self) -> Option<&Users> {
        Some(&self.users)
    }
}

impl Cq {
    /// For an endpoint whose operations complete here.
    pub fn sink(&self) -> Sink {
        Sink {
            state: Arc::clone(&self.state),
            drivers: Arc::clone(&self.drivers),
            _cq: self.users.enter(),
        }
    }

    /// The endpoints whose operations complete here.
    pub fn drivers(&self) -> Arc<Drivers> {
        Arc::clone(&self.drivers)
    }

    /// Whether nothing is to be had.
    pub fn is_quiet(&self) -> bool {
        self.drivers.drive();
        self.state
            .with(|state| state.queue.is_empty() && !state.signaled)
    }
}

impl Sink {
    /// An operation is complete.
    pub fn push(&self, completion: Completion) {
        self.change(|queue| queue.push(completion));
    }

    /// An operation has gone wrong.
    pub fn push_failed(&self, failed: Failed) {
        self.change(|queue| queue.push_failed(failed));
    }

    #[inline]
    fn change(&self, how: impl FnOnce(&mut Queue)) {
        self.state.change(|state| {
            how(&mut state.queue);
            state.wait.tell(true);
        });
        self.drivers.nudge();
    }

    /// How many completions have room.
    pub fn room(&self) -> usize {
        self.state.with(|state| state.queue.room())
    }
}

/// `fi_cq_open`
///
/// # Safety
/// As libfabric's programs call it.
pub unsafe extern "C" fn open(
    domain: *mut fid_domain,
    attr: *mut fi_cq_attr,
    cq: *mut *mut fid_cq,
    context: *mut c_void,
) -> c_int {
    call::status("fi_cq_open", || {
        // SAFETY: a domain of ours and attributes, by the contract.
        let (domain, attr) = unsafe { (of::<Domain, _>(domain), &*attr) };
        let size = match attr.size {
            0 => Settings::from_env()?.cq_size,
            size if size <= CQ_SIZE_MAX => size,
            size => {
                return Err(Failure::invalid(format!(
                    "a queue of {size} completions: {CQ_SIZE_MAX} are the most"
                )));
            }
        };
        match attr.flags & !FI_AFFINITY {
            0 => {}
            flags => {
                return Err(Failure::new(
                    FI_EBADFLAGS,
                    format!("queues know no flags {flags:#x}"),
                ));
            }
        }
        let state = State {
            queue: Queue::new(size),
            wait: WaitObject::new(attr.wait_obj)?,
            signaled: false,
            texts: Texts::default(),
        };
        let object = Cq {
            fid: fid_cq {
                fid: Cq::head(context),
                ops: &raw const OPS,
            },
            api_version: domain.api_version,
            format: Format::new(attr.format)?,
            state: Arc::new(domain.lock(state)),
            drivers: Arc::new(Drivers::new(domain.lock(Vec::new()))),
            users: Users::default(),
            _domain: domain.users.enter(),
        };
        // SAFETY: a place for the result, by the contract.
        unsafe { cq.write(object.open().cast()) };
        Ok(())
    })
}
