//! What a program has said that it wants, without pointers.

use std::ffi::c_void;
use std::slice;

use crate::abi::{fi_domain_attr, fi_ep_attr, fi_info, fi_rx_attr, fi_tx_attr};
use crate::object::text;

/// The fields of `fi_info` that are a wish. Pointers inside attributes have been followed, and are not to be looked at.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// Capabilities, all of which it needs; 0 for whatever there is.
    pub caps: u64,
    /// Format of addresses.
    pub addr_format: u32,
    /// `src_addr`
    pub source: Option<Vec<u8>>,
    /// `dest_addr`
    pub destination: Option<Vec<u8>>,
    /// `tx_attr`
    pub tx: Option<fi_tx_attr>,
    /// `rx_attr`
    pub rx: Option<fi_rx_attr>,
    /// `ep_attr`
    pub ep: Option<fi_ep_attr>,
    /// `domain_attr`
    pub domain: Option<fi_domain_attr>,
    /// `domain_attr->name`
    pub domain_name: Option<String>,
    /// `fabric_attr->name`
    pub fabric_name: Option<String>,
}

impl Hints {
    /// Of a program's; `None` for null.
    ///
    /// # Safety
    /// `info` is null or what a program may hand to `fi_getinfo`.
    pub unsafe fn read(info: *const fi_info) -> Option<Self> {
        // SAFETY: by the contract; and each of its pointers is null or leads to a structure, which is copied.
        unsafe {
            let info = info.as_ref()?;
            let domain = info.domain_attr.as_ref().copied();
            Some(Self {
                caps: info.caps,
                addr_format: info.addr_format,
                source: bytes(info.src_addr, info.src_addrlen),
                destination: bytes(info.dest_addr, info.dest_addrlen),
                tx: info.tx_attr.as_ref().copied(),
                rx: info.rx_attr.as_ref().copied(),
                ep: info.ep_attr.as_ref().copied(),
                domain_name: domain.and_then(|domain| text(domain.name)),
                domain,
                fabric_name: info
                    .fabric_attr
                    .as_ref()
                    .and_then(|fabric| text(fabric.name)),
            })
        }
    }
}

/// # Safety
/// `start` is null or leads to as many bytes.
unsafe fn bytes(start: *const c_void, len: usize) -> Option<Vec<u8>> {
    // SAFETY: by the contract.
    (!start.is_null() && len > 0)
        .then(|| unsafe { slice::from_raw_parts(start.cast::<u8>(), len) }.to_vec())
}
