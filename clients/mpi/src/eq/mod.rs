//! Event queues: `fi_eq_open` and what can be done with one. [`queue`] is what is in one, `calls` what
//! programs do with it.

mod calls;
mod poster;
pub mod queue;
#[cfg(test)]
mod tests;

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::abi::*;
use crate::call::{self, Failure};
use crate::fabric::Fabric;
use crate::lock::Lock;
use crate::object::{self, Object, User, Users, of};
use crate::text_of_error::Texts;
use crate::wait::WaitObject;

pub use poster::Poster;
use queue::{NoEvent, Queue};

/// Events that a queue holds if the program does not say how many.
const SIZE: usize = 1024;
/// And the most that it can ask for.
const SIZE_MAX: usize = 1 << 20;

/// `fid_eq`
#[repr(C)]
pub struct Eq {
    fid: fid_eq,
    api_version: u32,
    /// The program said that it would write events of its own.
    is_writable: bool,
    state: Arc<Lock<State>>,
    users: Users,
    _fabric: User,
}

struct State {
    queue: Queue,
    wait: WaitObject,
    texts: Texts,
}

static FID_OPS: fi_ops = fi_ops {
    control: Some(calls::control),
    ..object::only_close::<Eq>()
};
static OPS: fi_ops_eq = fi_ops_eq {
    size: size_of::<fi_ops_eq>(),
    read: Some(calls::read),
    readerr: Some(calls::readerr),
    write: Some(calls::write),
    sread: Some(calls::sread),
    strerror: Some(calls::strerror),
};

// SAFETY: it begins with a fid, and only it has this table.
unsafe impl Object for Eq {
    const CLASS: usize = FI_CLASS_EQ;
    const NAME: &'static str = "event queue";

    fn ops() -> &'static fi_ops {
        &FID_OPS
    }

    fn users(&self) -> Option<&Users> {
        Some(&self.users)
    }
}

impl Eq {
    /// For an object that tells of events.
    pub fn poster(&self) -> Poster {
        Poster {
            state: Arc::clone(&self.state),
            _eq: self.users.enter(),
        }
    }

    /// Whether nothing is to be had.
    pub fn is_quiet(&self) -> bool {
        self.state.with(|state| state.queue.is_empty())
    }
}

impl State {
    fn add(&mut self, add: impl FnOnce(&mut Queue)) {
        add(&mut self.queue);
        self.wait.tell(true);
    }

    /// Reads the next event; negative if there is none.
    ///
    /// # Safety
    /// There is room for so many bytes, and for the number of the event.
    unsafe fn read(
        &mut self,
        kind: *mut u32,
        buffer: *mut c_void,
        len: usize,
        flags: u64,
    ) -> isize {
        let read = match self.queue.read(len, flags & FI_PEEK != 0) {
            Ok(event) => {
                // SAFETY: by the contract; the queue has compared the length.
                unsafe {
                    kind.write(event.kind);
                    buffer
                        .cast::<u8>()
                        .copy_from_nonoverlapping(event.bytes.as_ptr(), event.bytes.len());
                }
                event.bytes.len() as isize
            }
            Err(NoEvent::Empty) => -FI_EAGAIN as isize,
            Err(NoEvent::Failed) => -FI_EAVAIL as isize,
            Err(NoEvent::TooLong) => -FI_ETOOSMALL as isize,
        };
        self.wait.tell(!self.queue.is_empty());
        read
    }
}

/// `fi_eq_open`
///
/// # Safety
/// As libfabric's programs call it.
pub unsafe extern "C" fn open(
    fabric: *mut fid_fabric,
    attr: *mut fi_eq_attr,
    eq: *mut *mut fid_eq,
    context: *mut c_void,
) -> c_int {
    call::status("fi_eq_open", || {
        // SAFETY: a fabric of ours and attributes, by the contract.
        let (fabric, attr) = unsafe { (of::<Fabric, _>(fabric), &*attr) };
        let size = match attr.size {
            0 => SIZE,
            size if size <= SIZE_MAX => size,
            size => {
                return Err(Failure::invalid(format!(
                    "a queue of {size} events: {SIZE_MAX} are the most"
                )));
            }
        };
        match attr.flags & !(FI_WRITE | FI_AFFINITY) {
            0 => {}
            flags => {
                return Err(Failure::new(
                    FI_EBADFLAGS,
                    format!("queues know no flags {flags:#x}"),
                ));
            }
        }
        let wait = WaitObject::new(attr.wait_obj)?;
        let object = Eq {
            fid: fid_eq {
                fid: Eq::head(context),
                ops: &raw const OPS,
            },
            api_version: fabric.api_version(),
            is_writable: attr.flags & FI_WRITE != 0,
            // It belongs to no domain, so that no program has promised anything about its threads.
            state: Arc::new(Lock::new(State {
                queue: Queue::new(size),
                wait,
                texts: Texts::default(),
            })),
            users: Users::default(),
            _fabric: fabric.users.enter(),
        };
        // SAFETY: a place for the result, by the contract.
        unsafe { eq.write(object.open().cast()) };
        Ok(())
    })
}
