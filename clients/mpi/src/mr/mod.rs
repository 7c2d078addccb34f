//! Memory regions: `fi_mr_reg` and its like. [`regions`] is what a domain keeps of them, `calls` how
//! they come about.

mod calls;
pub mod regions;
#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use bcl_adi::Hidden;

use crate::abi::*;
use crate::call::Failure;
use crate::domain::Domain;
use crate::lock::Lock;
use crate::object::{self, Object, User, Users};
use crate::progress::Drivers;

use regions::{Region, RegionError, Regions};

/// `fid_mr`
#[repr(C)]
pub struct Mr {
    fid: fid_mr,
    regions: Arc<Lock<Regions>>,
    /// It is being closed, and somebody may still be reading or writing it.
    hidden: Lock<Option<Hidden>>,
    /// Who has to go on until nobody is.
    endpoints: Arc<Drivers>,
    _domain: User,
}

static FID_OPS: fi_ops = fi_ops {
    close: Some(calls::close),
    control: Some(calls::control),
    ..object::only_close::<Mr>()
};
/// What domains have to register memory.
pub static OPS: fi_ops_mr = fi_ops_mr {
    size: size_of::<fi_ops_mr>(),
    reg: Some(calls::reg),
    regv: Some(calls::regv),
    regattr: Some(calls::regattr),
};

// SAFETY: it begins with a fid, and only it has this table.
unsafe impl Object for Mr {
    const CLASS: usize = FI_CLASS_MR;
    const NAME: &'static str = "memory region";

    fn ops() -> &'static fi_ops {
        &FID_OPS
    }

    fn users(&self) -> Option<&Users> {
        None
    }
}

impl Drop for Mr {
    fn drop(&mut self) {
        self.regions.with(|regions| regions.remove(self.fid.key));
    }
}

impl From<RegionError> for Failure {
    fn from(error: RegionError) -> Self {
        let code = match error {
            RegionError::Taken(_) => FI_ENOKEY,
            RegionError::Full => FI_ENOMEM,
        };
        Self::new(code, error.to_string())
    }
}

/// What can be said of memory that is registered.
const ACCESS: u64 = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

impl Mr {
    /// # Safety
    /// Others may reach the memory until the region is closed, as far as it permits.
    unsafe fn open_in(
        domain: &Domain,
        region: Region,
        key: u64,
        flags: u64,
        context: *mut c_void,
    ) -> Result<*mut Self, Failure> {
        if flags != 0 {
            return Err(Failure::new(
                FI_EBADFLAGS,
                format!("memory regions know no flags {flags:#x}"),
            ));
        }
        if region.access & !ACCESS != 0 {
            return Err(Failure::invalid(format!(
                "access {:#x} has bits that mean nothing here",
                region.access
            )));
        }
        let insert = |regions: &mut Regions| {
            // SAFETY: by the contract.
            unsafe { regions.insert(region, key) }
        };
        let key = domain.regions.with(insert)?;
        let mr = Self {
            fid: fid_mr {
                fid: Self::head(context),
                mem_desc: ptr::null_mut(),
                key,
            },
            regions: Arc::clone(&domain.regions),
            hidden: domain.lock(None),
            endpoints: Arc::clone(&domain.endpoints),
            _domain: domain.users.enter(),
        };
        let mr = mr.open();
        // SAFETY: just made. Its address is as good a descriptor as any.
        unsafe { (*mr).fid.mem_desc = mr.cast() };
        domain.poster.with(|bound| {
            if let Some(bound) = bound.as_ref().filter(|bound| bound.tells_of_regions) {
                bound.poster.post(FI_MR_COMPLETE, mr.cast(), context, 0);
            }
        });
        Ok(mr)
    }
}
