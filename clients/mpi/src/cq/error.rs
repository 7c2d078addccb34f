//! `fi_cq_readerr`: what went wrong, with a text for people where the program looks for data of the provider's.

use std::ffi::CString;

use super::queue::Failed;
use crate::abi::{fi_cq_err_entry, fi_version};
use crate::text_of_error::Offered;

/// Writes an error where the program wants it. The text lies in memory of the program's if it offers some, else in `kept`,
/// until that is replaced.
///
/// # Safety
/// `entry` is valid as a program of this version has it, and so is the memory that it offers there.
pub unsafe fn write(
    entry: *mut fi_cq_err_entry,
    failed: &Failed,
    api_version: u32,
    kept: &mut CString,
) {
    let operation = &failed.operation;
    // SAFETY: by the contract. Fields are written one by one, for an older program has no source at the end.
    unsafe {
        (*entry).op_context = operation.context;
        (*entry).flags = operation.flags;
        (*entry).len = operation.len;
        (*entry).buf = operation.buf;
        (*entry).data = operation.data;
        (*entry).tag = operation.tag;
        (*entry).olen = failed.overflow_len;
        (*entry).err = failed.err;
        (*entry).prov_errno = failed.err;
        if api_version >= fi_version(1, 20) {
            (*entry).src_addr = operation.source;
        }
        let offered = Offered {
            place: &raw mut (*entry).err_data,
            len: &raw mut (*entry).err_data_size,
        };
        offered.put(&failed.text, api_version, kept);
    }
}
