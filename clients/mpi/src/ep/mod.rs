//! Endpoints: `fi_endpoint` and all that is done with one.
//!
//! An endpoint is made, other objects are bound to it (`bound`), and `fi_enable` opens it: from then on it has a `Data`,
//! an endpoint of the middle layer and what its completions go to. `msg` and `tagged` are the calls that move messages,
//! over `sending` and `receiving`, which both share; `rma` and `changing` (atomic operations) those that reach into others' memory, over `reaching`;
//! `names` and `options` are the rest.

mod bound;
mod changes;
mod changing;
mod data;
mod failed;
mod lifecycle;
mod msg;
mod names;
mod options;
mod reaching;
mod receiving;
mod refused;
mod rma;
mod sending;
mod tagged;

use std::ffi::{c_int, c_void};
use std::sync::{Arc, OnceLock};

use bcl_adi::Regions;

use crate::abi::*;
use crate::call::{self, Failure};
use crate::domain::Domain;
use crate::lock::Lock;
use crate::name::Name;
use crate::object::{self, Object, User, Users, of};

pub use changes::query_atomic;

use bound::Bound;
use data::Data;

/// `fid_ep`
#[repr(C)]
pub struct Ep {
    fid: fid_ep,
    /// What was asked for: of it depends what arguments mean.
    caps: u64,
    /// `FI_INJECT` and so on, for calls that have no flags of their own.
    tx_flags: u64,
    rx_flags: u64,
    /// Where it is to be; the port may be 0. The secret is that of a name that the program has put there.
    name: Name,
    /// Progress without calls.
    is_automatic: bool,
    one_thread: bool,
    bound: Lock<Bound>,
    /// Bytes that have to be free in a multi-receive buffer.
    min_multi_recv: Lock<usize>,
    /// Memory that others may reach.
    regions: Arc<Regions>,
    data: OnceLock<Arc<Data>>,
    _domain: User,
}

static FID_OPS: fi_ops = fi_ops {
    close: Some(lifecycle::close),
    bind: Some(bound::bind),
    control: Some(lifecycle::control),
    ..object::only_close::<Ep>()
};
static OPS: fi_ops_ep = fi_ops_ep {
    size: size_of::<fi_ops_ep>(),
    cancel: Some(receiving::cancel),
    getopt: Some(options::getopt),
    setopt: Some(options::setopt),
    tx_ctx: Some(options::no_tx_ctx),
    rx_ctx: Some(options::no_rx_ctx),
    rx_size_left: Some(options::no_size_left),
    tx_size_left: Some(options::no_size_left),
};

// SAFETY: it begins with a fid, and only it has this table.
unsafe impl Object for Ep {
    const CLASS: usize = FI_CLASS_EP;
    const NAME: &'static str = "endpoint";

    fn ops() -> &'static fi_ops {
        &FID_OPS
    }

    fn users(&self) -> Option<&Users> {
        None
    }
}

/// What each message has found in libfabric's headers: 64 bytes are free, unless somebody says otherwise.
const MIN_MULTI_RECV: usize = 64;

/// `fi_endpoint`
///
/// # Safety
/// As libfabric's programs call it.
pub unsafe extern "C" fn open(
    domain: *mut fid_domain,
    info: *mut fi_info,
    ep: *mut *mut fid_ep,
    context: *mut c_void,
) -> c_int {
    call::status("fi_endpoint", || {
        // SAFETY: a domain of ours, and what fi_getinfo has returned, perhaps changed, by the contract.
        let (domain, info) = unsafe { (of::<Domain, _>(domain), &*info) };
        // SAFETY: as above.
        let attrs = unsafe {
            (
                info.tx_attr.as_ref(),
                info.rx_attr.as_ref(),
                info.domain_attr.as_ref(),
            )
        };
        let (Some(tx), Some(rx), Some(domain_attr)) = attrs else {
            return Err(Failure::invalid(
                "the fi_info has no tx_attr, rx_attr or domain_attr: take what fi_getinfo returns",
            ));
        };
        let head = fid_ep {
            fid: Ep::head(context),
            ops: &raw const OPS,
            cm: &raw const names::OPS,
            msg: &raw const msg::OPS,
            rma: &raw const rma::OPS,
            tagged: &raw const tagged::OPS,
            atomic: &raw const changing::OPS,
            collective: std::ptr::null(),
        };
        let object = Ep {
            fid: head,
            caps: info.caps,
            tx_flags: tx.op_flags,
            rx_flags: rx.op_flags,
            // SAFETY: as above.
            name: unsafe { names::wanted(info) }?,
            is_automatic: domain_attr.data_progress == FI_PROGRESS_AUTO,
            one_thread: domain.is_of_one_thread(),
            bound: domain.lock(Bound {
                lookers: vec![Arc::clone(&domain.endpoints)],
                ..Bound::default()
            }),
            regions: domain.regions.with(|regions| Arc::clone(regions.reached())),
            min_multi_recv: domain.lock(MIN_MULTI_RECV),
            data: OnceLock::new(),
            _domain: domain.users.enter(),
        };
        // SAFETY: a place for the result, by the contract.
        unsafe { ep.write(object.open().cast()) };
        Ok(())
    })
}

/// `fi_endpoint2`, which has flags that ask for nothing of ours.
///
/// # Safety
/// As of [`open`].
pub unsafe extern "C" fn open2(
    domain: *mut fid_domain,
    info: *mut fi_info,
    ep: *mut *mut fid_ep,
    flags: u64,
    context: *mut c_void,
) -> c_int {
    if flags != 0 {
        return call::status("fi_endpoint2", || {
            Err(Failure::unsupported(format!(
                "flags {flags:#x}: an endpoint of BCL is no peer of another provider's"
            )))
        });
    }
    // SAFETY: by the contract.
    unsafe { open(domain, info, ep, context) }
}

impl Ep {
    /// What it has since it was enabled.
    #[inline]
    fn data(&self) -> Result<&Arc<Data>, Failure> {
        self.data.get().ok_or_else(|| {
            Failure::new(
                FI_EOPBADSTATE,
                "the endpoint is not enabled yet: bind what it needs, and call fi_enable",
            )
        })
    }
}
