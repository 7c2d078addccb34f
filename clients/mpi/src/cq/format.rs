//! How completions are written where a program reads them.

use std::ffi::c_void;

use super::queue::Completion;
use crate::abi::*;
use crate::call::Failure;

/// How much of a completion a program wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `fi_cq_entry`
    Context,
    /// `fi_cq_msg_entry`
    Msg,
    /// `fi_cq_data_entry`
    Data,
    /// `fi_cq_tagged_entry`
    Tagged,
}

impl Format {
    /// Of an attribute, `FI_CQ_FORMAT_...`.
    ///
    /// # Errors
    /// If there is no such format.
    pub fn new(format: u32) -> Result<Self, Failure> {
        match format {
            FI_CQ_FORMAT_UNSPEC | FI_CQ_FORMAT_CONTEXT => Ok(Self::Context),
            FI_CQ_FORMAT_MSG => Ok(Self::Msg),
            FI_CQ_FORMAT_DATA => Ok(Self::Data),
            FI_CQ_FORMAT_TAGGED => Ok(Self::Tagged),
            other => Err(Failure::invalid(format!(
                "there is no format {other} of completions"
            ))),
        }
    }

    /// Writes the entry with this index of a buffer of the program's.
    ///
    /// # Safety
    /// The buffer has room for as many entries of this format.
    #[inline]
    pub unsafe fn write(self, buffer: *mut c_void, index: usize, completion: &Completion) {
        let &Completion {
            context: op_context,
            flags,
            len,
            buf,
            data,
            tag,
            ..
        } = completion;
        // SAFETY: by the contract.
        unsafe {
            match self {
                Self::Context => buffer
                    .cast::<fi_cq_entry>()
                    .add(index)
                    .write(fi_cq_entry { op_context }),
                Self::Msg => buffer
                    .cast::<fi_cq_msg_entry>()
                    .add(index)
                    .write(fi_cq_msg_entry {
                        op_context,
                        flags,
                        len,
                    }),
                Self::Data => {
                    buffer
                        .cast::<fi_cq_data_entry>()
                        .add(index)
                        .write(fi_cq_data_entry {
                            op_context,
                            flags,
                            len,
                            buf,
                            data,
                        })
                }
                Self::Tagged => {
                    buffer
                        .cast::<fi_cq_tagged_entry>()
                        .add(index)
                        .write(fi_cq_tagged_entry {
                            op_context,
                            flags,
                            len,
                            buf,
                            data,
                            tag,
                        })
                }
            }
        }
    }
}
