//! `fi_cq_readerr`: what went wrong, and a number by which a program gets the text for people.

use super::queue::Failed;
use crate::abi::{fi_cq_err_entry, fi_version};
use crate::text_of_error::{ErrData, Texts};

/// Writes an error where the program wants it.
///
/// # Safety
/// `entry` is valid as a program of this version has it.
pub unsafe fn write(
    entry: *mut fi_cq_err_entry,
    failed: &Failed,
    api_version: u32,
    texts: &mut Texts,
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
        (*entry).prov_errno = texts.keep(&failed.text);
        if api_version >= fi_version(1, 20) {
            (*entry).src_addr = operation.source;
        }
        let err_data = ErrData {
            place: &raw mut (*entry).err_data,
            len: &raw mut (*entry).err_data_size,
        };
        err_data.put_none(api_version);
    }
}
