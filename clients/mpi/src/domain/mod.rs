//! `fi_domain`: what endpoints, and all that they need, are made of.

mod absent;
#[cfg(test)]
mod tests;

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::abi::*;
use crate::call::{self, Failure};
use crate::eq::{Eq, Poster};
use crate::fabric::Fabric;
use crate::lock::Lock;
use crate::mr::{self, regions::Regions};
use crate::object::{self, Object, User, Users, find, of, text};
use crate::progress::Drivers;
use crate::provider::NAME;
use crate::{av, cntr, cq, ep};

/// `fid_domain`
#[repr(C)]
pub struct Domain {
    fid: fid_domain,
    /// What the program was written for.
    pub api_version: u32,
    /// Address vectors, queues, counters, regions.
    pub users: Users,
    /// Memory that others may reach.
    pub regions: Arc<Lock<Regions>>,
    /// Endpoints that are enabled.
    pub endpoints: Arc<Drivers>,
    /// Who is told of regions and addresses that are ready, if the program wants to be told.
    pub poster: Lock<Option<Bound>>,
    one_thread: bool,
    _fabric: User,
}

/// An event queue that was bound to the domain.
#[derive(Debug)]
pub struct Bound {
    /// The queue.
    pub poster: Poster,
    /// `FI_REG_MR`: regions are ready when it says so.
    pub tells_of_regions: bool,
}

static FID_OPS: fi_ops = fi_ops {
    bind: Some(bind),
    ..object::only_close::<Domain>()
};
static OPS: fi_ops_domain = fi_ops_domain {
    size: size_of::<fi_ops_domain>(),
    av_open: Some(av::open),
    cq_open: Some(cq::open),
    endpoint: Some(ep::open),
    scalable_ep: Some(absent::no_scalable_ep),
    cntr_open: Some(cntr::open),
    poll_open: Some(absent::no_poll_open),
    stx_ctx: Some(absent::no_stx_ctx),
    srx_ctx: Some(absent::no_srx_ctx),
    query_atomic: Some(ep::query_atomic),
    query_collective: Some(absent::no_query_collective),
    endpoint2: Some(ep::open2),
};

// SAFETY: it begins with a fid, and only it has this table.
unsafe impl Object for Domain {
    const CLASS: usize = FI_CLASS_DOMAIN;
    const NAME: &'static str = "domain";

    fn ops() -> &'static fi_ops {
        &FID_OPS
    }

    fn users(&self) -> Option<&Users> {
        Some(&self.users)
    }
}

impl Domain {
    /// Whether the program has promised that no two threads are in calls on anything of the domain.
    pub fn is_of_one_thread(&self) -> bool {
        self.one_thread
    }

    /// A lock for a part of the domain, or none if the program uses one thread at a time.
    pub fn lock<T>(&self, value: T) -> Lock<T> {
        lock(value, self.one_thread)
    }
}

fn lock<T>(value: T, one_thread: bool) -> Lock<T> {
    match one_thread {
        // SAFETY: FI_THREAD_DOMAIN is the promise that no two threads are in calls on anything of the domain.
        true => unsafe { Lock::of_one_thread(value) },
        false => Lock::new(value),
    }
}

/// `fi_domain`
///
/// # Safety
/// As libfabric's programs call it.
pub unsafe extern "C" fn open(
    fabric: *mut fid_fabric,
    info: *mut fi_info,
    domain: *mut *mut fid_domain,
    context: *mut c_void,
) -> c_int {
    call::status("fi_domain", || {
        // SAFETY: a fabric of ours, and what fi_getinfo has returned, perhaps changed, by the contract.
        let (fabric, attr) = unsafe { (of::<Fabric, _>(fabric), (*info).domain_attr.as_ref()) };
        let attr = attr.ok_or_else(|| {
            Failure::invalid("the fi_info has no domain_attr: take what fi_getinfo returns")
        })?;
        // SAFETY: a string, by the contract.
        if let Some(name) = unsafe { text(attr.name) }.filter(|name| name != NAME) {
            return Err(Failure::invalid(format!(
                "there is no domain '{name}' here, only '{NAME}'"
            )));
        }
        let one_thread = attr.threading == FI_THREAD_DOMAIN;
        let head = fid_domain {
            fid: Domain::head(context),
            ops: &raw const OPS,
            mr: &raw const mr::OPS,
        };
        let object = Domain {
            fid: head,
            api_version: fabric.api_version(),
            users: Users::default(),
            regions: Arc::new(lock(Regions::new(attr.mr_mode), one_thread)),
            endpoints: Arc::new(Drivers::new(lock(Vec::new(), one_thread))),
            poster: lock(None, one_thread),
            one_thread,
            _fabric: fabric.users.enter(),
        };
        // SAFETY: a place for the result, by the contract.
        unsafe { domain.write(object.open().cast()) };
        Ok(())
    })
}

unsafe extern "C" fn bind(domain: *mut fid, queue: *mut fid, flags: u64) -> c_int {
    call::status("fi_domain_bind", || {
        // SAFETY: a domain of ours and an open object, by the contract of the caller.
        let (domain, eq) = unsafe { (of::<Domain, _>(domain), find::<Eq>(queue)) };
        let eq = eq.ok_or_else(|| {
            Failure::invalid("only an event queue of BCL can be bound to a domain")
        })?;
        let bound = Bound {
            poster: eq.poster(),
            tells_of_regions: flags & FI_REG_MR != 0,
        };
        domain.poster.with(|place| match place {
            Some(_) => Err(Failure::invalid(
                "an event queue is bound to the domain already",
            )),
            None => {
                *place = Some(bound);
                Ok(())
            }
        })
    })
}
