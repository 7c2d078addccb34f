//! Counters of completions: `fi_cntr_open` and what can be done with one. [`counter`] is what it
//! counts, `calls` what programs do with it.

mod calls;
pub mod counter;
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
use crate::wait::WaitObject;

use counter::Counter;

/// `fid_cntr`
#[repr(C)]
pub struct Cntr {
    fid: fid_cntr,
    state: Arc<Lock<State>>,
    drivers: Arc<Drivers>,
    users: Users,
    _domain: User,
}

struct State {
    counter: Counter,
    wait: WaitObject,
}

/// The other side: where operations are counted. It keeps the counter open.
pub struct Tally {
    state: Arc<Lock<State>>,
    drivers: Arc<Drivers>,
    _cntr: User,
}

static FID_OPS: fi_ops = fi_ops {
    control: Some(calls::control),
    ..object::only_close::<Cntr>()
};
static OPS: fi_ops_cntr = fi_ops_cntr {
    size: size_of::<fi_ops_cntr>(),
    read: Some(calls::read),
    readerr: Some(calls::readerr),
    add: Some(calls::add),
    set: Some(calls::set),
    wait: Some(calls::wait),
    adderr: Some(calls::adderr),
    seterr: Some(calls::seterr),
};

// SAFETY: it begins with a fid, and only it has this table.
unsafe impl Object for Cntr {
    const CLASS: usize = FI_CLASS_CNTR;
    const NAME: &'static str = "counter";

    fn ops() -> &'static fi_ops {
        &FID_OPS
    }

    fn users(&self) -> Option<&Users> {
        Some(&self.users)
    }
}

impl Cntr {
    /// For an endpoint whose operations are counted here.
    pub fn tally(&self) -> Tally {
        Tally {
            state: Arc::clone(&self.state),
            drivers: Arc::clone(&self.drivers),
            _cntr: self.users.enter(),
        }
    }

    /// The endpoints whose operations are counted here.
    pub fn drivers(&self) -> Arc<Drivers> {
        Arc::clone(&self.drivers)
    }

    /// Whether nothing has changed since the program looked.
    pub fn is_quiet(&self) -> bool {
        self.drivers.drive();
        self.state.with(|state| !state.counter.has_changed())
    }
}

impl Tally {
    /// One more is complete.
    pub fn count(&self) {
        change(&self.state, &self.drivers, |counter| counter.add(1));
    }

    /// One more has gone wrong.
    pub fn count_failed(&self) {
        change(&self.state, &self.drivers, |counter| counter.add_failed(1));
    }
}

fn change(state: &Lock<State>, drivers: &Drivers, how: impl FnOnce(&mut Counter)) {
    state.change(|state| {
        how(&mut state.counter);
        state.wait.tell(true);
    });
    drivers.nudge();
}

/// `fi_cntr_open`
///
/// # Safety
/// As libfabric's programs call it.
pub unsafe extern "C" fn open(
    domain: *mut fid_domain,
    attr: *mut fi_cntr_attr,
    cntr: *mut *mut fid_cntr,
    context: *mut c_void,
) -> c_int {
    call::status("fi_cntr_open", || {
        // SAFETY: a domain of ours and attributes, or null for those that everybody has, by the contract.
        let (domain, attr) = unsafe { (of::<Domain, _>(domain), attr.as_ref()) };
        let (events, flags) =
            attr.map_or((FI_CNTR_EVENTS_COMP, 0), |attr| (attr.events, attr.flags));
        if events != FI_CNTR_EVENTS_COMP {
            return Err(Failure::unsupported(format!(
                "counters count completions, not events of kind {events}"
            )));
        }
        if flags != 0 {
            return Err(Failure::new(
                FI_EBADFLAGS,
                format!("counters know no flags {flags:#x}"),
            ));
        }
        let wait = WaitObject::new(attr.map_or(FI_WAIT_UNSPEC, |attr| attr.wait_obj))?;
        let object = Cntr {
            fid: fid_cntr {
                fid: Cntr::head(context),
                ops: &raw const OPS,
            },
            state: Arc::new(domain.lock(State {
                counter: Counter::default(),
                wait,
            })),
            drivers: Arc::new(Drivers::new(domain.lock(Vec::new()))),
            users: Users::default(),
            _domain: domain.users.enter(),
        };
        // SAFETY: a place for the result, by the contract.
        unsafe { cntr.write(object.open().cast()) };
        Ok(())
    })
}
