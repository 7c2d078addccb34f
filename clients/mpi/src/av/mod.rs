//! Address vectors: `fi_av_open` and what can be done with one. [`table`] is what is in one; what a program gets for an
//! address is its index, in vectors of both types. `insert` and `calls` are what programs do with one.

mod calls;
mod insert;
pub mod table;
#[cfg(test)]
mod tests;

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use bcl_adi::PeerKeys;
use bcl_types::Address;

use crate::abi::*;
use crate::call::{self, Failure};
use crate::domain::Domain;
use crate::eq::{Eq, Poster};
use crate::keys::Keys;
use crate::lock::Lock;
use crate::object::{self, Object, User, Users, find, of, text};

use table::{Table, TableError};

/// `fid_av`
#[repr(C)]
pub struct Av {
    fid: fid_av,
    /// `FI_AV_MAP`: what it gives for an address is the only way back to it.
    is_map: bool,
    /// `FI_EVENT`: insertions are complete when an event says so.
    tells: bool,
    table: Arc<Lock<Table>>,
    /// What its names say of the keys of ports, for all endpoints that it is bound to.
    peer_keys: PeerKeys,
    keys: Keys,
    poster: Lock<Option<Poster>>,
    users: Users,
    _domain: User,
}

/// For endpoints, which send to what is in it. It keeps the vector open.
pub struct Addresses {
    table: Arc<Lock<Table>>,
    peer_keys: PeerKeys,
    _av: User,
}

static FID_OPS: fi_ops = fi_ops {
    bind: Some(bind),
    ..object::only_close::<Av>()
};
static OPS: fi_ops_av = fi_ops_av {
    size: size_of::<fi_ops_av>(),
    insert: Some(insert::insert),
    insertsvc: Some(calls::no_insertsvc),
    insertsym: Some(calls::no_insertsym),
    remove: Some(calls::remove),
    lookup: Some(calls::lookup),
    straddr: Some(calls::straddr),
    av_set: Some(calls::no_av_set),
};

// SAFETY: it begins with a fid, and only it has this table.
unsafe impl Object for Av {
    const CLASS: usize = FI_CLASS_AV;
    const NAME: &'static str = "address vector";

    fn ops() -> &'static fi_ops {
        &FID_OPS
    }

    fn users(&self) -> Option<&Users> {
        Some(&self.users)
    }
}

impl Av {
    /// For an endpoint.
    pub fn addresses(&self) -> Addresses {
        Addresses {
            table: Arc::clone(&self.table),
            peer_keys: self.peer_keys.clone(),
            _av: self.users.enter(),
        }
    }

    /// Puts a name in. Of two of the same address the later one counts: that has taken the place of the other.
    fn insert(&self, name: &[u8]) -> Result<u64, TableError> {
        self.table.with(|table| {
            let (index, name) = table.insert(name)?;
            self.peer_keys.set(name.address, self.keys.of(&name));
            Ok(index)
        })
    }

    fn remove(&self, index: u64) -> Result<(), TableError> {
        self.table.with(|table| {
            let address = table.get(index)?;
            match table.remove(index)? {
                Some(left) => self.peer_keys.set(address, self.keys.of(&left)),
                None => self.peer_keys.forget(address),
            }
            Ok(())
        })
    }
}

impl Addresses {
    /// Where `fi_addr` leads.
    ///
    /// # Errors
    /// If nowhere.
    #[inline]
    pub fn get(&self, fi_addr: u64) -> Result<Address, TableError> {
        self.table.with(|table| table.get(fi_addr))
    }

    /// The keys of the ports that are in it, and of those that will be.
    pub fn peer_keys(&self) -> PeerKeys {
        self.peer_keys.clone()
    }

    /// Where it is in the vector, or `FI_ADDR_NOTAVAIL`.
    pub fn place_of(&self, address: Address) -> u64 {
        let place = self.table.with(|table| table.place_of(address));
        place.unwrap_or(FI_ADDR_NOTAVAIL)
    }
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        let code = match error {
            TableError::Full => FI_ENOMEM,
            TableError::NotAName(_) | TableError::NoPort(_) | TableError::Absent(_) => FI_EINVAL,
        };
        Self::new(code, error.to_string())
    }
}

/// `fi_av_open`
///
/// # Safety
/// As libfabric's programs call it.
pub unsafe extern "C" fn open(
    domain: *mut fid_domain,
    attr: *mut fi_av_attr,
    av: *mut *mut fid_av,
    context: *mut c_void,
) -> c_int {
    call::status("fi_av_open", || {
        // SAFETY: a domain of ours and attributes, by the contract.
        let (domain, attr) = unsafe { (of::<Domain, _>(domain), &mut *attr) };
        // SAFETY: a string or null, by the contract.
        if let Some(name) = unsafe { text(attr.name) } {
            return Err(Failure::unsupported(format!(
                "'{name}': address vectors are not shared between processes"
            )));
        }
        if attr.rx_ctx_bits != 0 {
            let bits = attr.rx_ctx_bits;
            return Err(Failure::invalid(format!(
                "rx_ctx_bits is {bits}, but endpoints of BCL have one receive context"
            )));
        }
        match attr.flags & !(FI_EVENT | FI_SYMMETRIC) {
            0 => {}
            flags => {
                return Err(Failure::new(
                    FI_EBADFLAGS,
                    format!("address vectors know no flags {flags:#x}"),
                ));
            }
        }
        let is_map = match attr.r#type {
            FI_AV_UNSPEC | FI_AV_TABLE => false,
            FI_AV_MAP => true,
            other => {
                return Err(Failure::invalid(format!(
                    "there is no type {other} of address vectors"
                )));
            }
        };
        // Who has no wish learns what it is.
        attr.r#type = if is_map { FI_AV_MAP } else { FI_AV_TABLE };
        let object = Av {
            fid: fid_av {
                fid: Av::head(context),
                ops: &raw const OPS,
            },
            is_map,
            tells: attr.flags & FI_EVENT != 0,
            table: Arc::new(domain.lock(Table::default())),
            peer_keys: PeerKeys::default(),
            keys: Keys::from_env()?,
            poster: domain.lock(None),
            users: Users::default(),
            _domain: domain.users.enter(),
        };
        // SAFETY: a place for the result, by the contract.
        unsafe { av.write(object.open().cast()) };
        Ok(())
    })
}

unsafe extern "C" fn bind(av: *mut fid, queue: *mut fid, _flags: u64) -> c_int {
    call::status("fi_av_bind", || {
        // SAFETY: a vector of ours and an open object, by the contract of the caller.
        let (av, eq) = unsafe { (of::<Av, _>(av), find::<Eq>(queue)) };
        let eq = eq.ok_or_else(|| {
            Failure::invalid("only an event queue of BCL can be bound to an address vector")
        })?;
        av.poster.with(|poster| *poster = Some(eq.poster()));
        Ok(())
    })
}
