//! `fi_fabric`: what domains and event queues are made of.

use std::ffi::{c_int, c_void};

use crate::abi::*;
use crate::call::{self, Failure};
use crate::cntr::Cntr;
use crate::cq::Cq;
use crate::domain;
use crate::eq::{self, Eq};
use crate::object::{self, Object, Users, find, text};
use crate::provider::NAME;

/// `fid_fabric`
#[repr(C)]
pub struct Fabric {
    fid: fid_fabric,
    /// Domains and event queues.
    pub users: Users,
}

static FID_OPS: fi_ops = object::only_close::<Fabric>();
static OPS: fi_ops_fabric = fi_ops_fabric {
    size: size_of::<fi_ops_fabric>(),
    domain: Some(domain::open),
    passive_ep: Some(no_passive_ep),
    eq_open: Some(eq::open),
    wait_open: Some(no_wait_open),
    trywait: Some(trywait),
    domain2: Some(domain2),
};

// SAFETY: it begins with a fid, and only it has this table.
unsafe impl Object for Fabric {
    const CLASS: usize = FI_CLASS_FABRIC;
    const NAME: &'static str = "fabric";

    fn ops() -> &'static fi_ops {
        &FID_OPS
    }

    fn users(&self) -> Option<&Users> {
        Some(&self.users)
    }
}

impl Fabric {
    /// What the program was written for.
    pub fn api_version(&self) -> u32 {
        self.fid.api_version
    }
}

/// `fi_fabric`
///
/// # Safety
/// As libfabric calls it.
pub unsafe extern "C" fn open(
    attr: *mut fi_fabric_attr,
    fabric: *mut *mut fid_fabric,
    context: *mut c_void,
) -> c_int {
    call::status("fi_fabric", || {
        // SAFETY: attributes with a name, and a place for the result, by the contract.
        let (name, api_version) = unsafe { (text((*attr).name), (*attr).api_version) };
        if let Some(name) = name.filter(|name| name != NAME) {
            return Err(Failure::new(
                FI_ENODATA,
                format!("there is no fabric '{name}' here, only '{NAME}'"),
            ));
        }
        let head = fid_fabric {
            fid: Fabric::head(context),
            ops: &raw const OPS,
            api_version,
        };
        let object = Fabric {
            fid: head,
            users: Users::default(),
        };
        // SAFETY: as above.
        unsafe { fabric.write(object.open().cast()) };
        Ok(())
    })
}

unsafe extern "C" fn domain2(
    fabric: *mut fid_fabric,
    info: *mut fi_info,
    place: *mut *mut fid_domain,
    flags: u64,
    context: *mut c_void,
) -> c_int {
    if flags != 0 {
        return call::status("fi_domain2", || {
            Err(Failure::unsupported(format!(
                "flags {flags:#x}: a domain of BCL is no peer of another provider's"
            )))
        });
    }
    // SAFETY: by the contract of the caller.
    unsafe { domain::open(fabric, info, place, context) }
}

/// Whether a program may now wait at the descriptors of these, or something is to be had already.
unsafe extern "C" fn trywait(_: *mut fid_fabric, fids: *mut *mut fid, count: c_int) -> c_int {
    let mut quiet = true;
    let status = call::status("fi_trywait", || {
        for index in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: so many objects, by the contract of the caller.
            quiet &= unsafe { is_quiet(*fids.add(index)) }.ok_or_else(|| {
                Failure::invalid(format!("object {index} is no queue or counter of BCL"))
            })?;
        }
        Ok(())
    });
    match quiet {
        false if status == 0 => -FI_EAGAIN,
        _ => status,
    }
}

/// # Safety
/// An object of some provider's.
unsafe fn is_quiet(fid: *mut fid) -> Option<bool> {
    // SAFETY: by the contract.
    unsafe {
        let cq = find::<Cq>(fid).map(Cq::is_quiet);
        let cntr = || find::<Cntr>(fid).map(Cntr::is_quiet);
        cq.or_else(cntr)
            .or_else(|| find::<Eq>(fid).map(Eq::is_quiet))
    }
}

unsafe extern "C" fn no_passive_ep(
    _: *mut fid_fabric,
    _: *mut fi_info,
    _: *mut *mut c_void,
    _: *mut c_void,
) -> c_int {
    call::status("fi_passive_ep", || {
        Err(Failure::unsupported(
            "endpoints of BCL reach each other without connections: ask for FI_EP_RDM",
        ))
    })
}

unsafe extern "C" fn no_wait_open(
    _: *mut fid_fabric,
    _: *mut c_void,
    _: *mut *mut c_void,
) -> c_int {
    call::status("fi_wait_open", || {
        Err(Failure::unsupported(
            "there are no wait sets: open queues with FI_WAIT_FD, and poll their descriptors",
        ))
    })
}
