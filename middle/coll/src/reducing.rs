//! Combining the data of all, element by element, in the order of ranks: all get the same, and each time ([COLL-3.4]).

use bcl_adi::Atomic;

use crate::error::Error;
use crate::group::{Call, Group};
use crate::header::Kind;
use crate::hosts::Hosts;
use crate::team::PIECE_BYTES;

/// Up to so many members, and bytes of each, all post theirs and each combines them itself: the result is there after one message, not
/// two.
const EACH_MAX: usize = 8;
const EACH_MAX_BYTES: usize = 2 << 10;

/// Steps of a call: data to be combined; the result.
const DATA: u8 = 0;
const RESULT: u8 = 1;

impl Group {
    /// The data of all are combined, and the root's are the result; those of the others stay as they are.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a root that is none, a function that combines nothing, or a part of an element; else as
    /// [`broadcast`](Self::broadcast).
    pub fn reduce(&self, root: usize, atomic: Atomic, data: &mut [u8]) -> Result<(), Error> {
        self.check_root(root)?;
        check(atomic, data.len())?;
        self.call(Kind::Reduce, |call| {
            data.chunks_mut(PIECE_BYTES)
                .try_for_each(|piece| match self.rank() == root {
                    true => call.combine(atomic, piece),
                    false => call.send(root, DATA, piece),
                })
        })
    }

    /// The data of all are combined, and all get the result.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub fn allreduce(&self, atomic: Atomic, data: &mut [u8]) -> Result<(), Error> {
        check(atomic, data.len())?;
        self.call(Kind::Reduce, |call| {
            if self.size() <= EACH_MAX && data.len() <= EACH_MAX_BYTES {
                return match self.few_hosts()? {
                    Some(hosts) => call.combine_by_host(hosts, atomic, data),
                    None => {
                        call.send_to_others(DATA, data)?;
                        call.combine(atomic, data)
                    }
                };
            }
            for piece in data.chunks_mut(PIECE_BYTES) {
                if self.rank() == 0 {
                    call.combine(atomic, piece)?;
                    call.send_to_others(RESULT, piece)?;
                } else {
                    call.send(0, DATA, piece)?;
                    call.receive(0, RESULT, piece)?;
                }
            }
            Ok(())
        })
    }
}

impl Call<'_> {
    /// Of all, the own among them.
    fn combine(&self, atomic: Atomic, own: &mut [u8]) -> Result<(), Error> {
        let len_bytes = own.len();
        let mut result = Vec::new();
        for rank in 0..self.group.size() {
            let mut take = |data: &[u8]| match rank {
                0 => result.extend_from_slice(data),
                _ => atomic.combine(&mut result, data),
            };
            match rank == self.group.rank() {
                true => take(own),
                false => self.receive_with(rank, DATA, len_bytes, take)?,
            }
        }
        own.copy_from_slice(&result);
        Ok(())
    }
    /// The same, of what comes together from each host.
    fn combine_by_host(&self, hosts: &Hosts, atomic: Atomic, own: &mut [u8]) -> Result<(), Error> {
        let len_bytes = own.len();
        let mut all = vec![0; len_bytes * self.group.size()];
        self.exchange_by_host(hosts, own, |rank, data| {
            all[rank * len_bytes..][..len_bytes].copy_from_slice(data);
        })?;
        let (result, others) = all.split_at_mut(len_bytes);
        let others = others.chunks_exact(len_bytes.max(1));
        others.for_each(|data| atomic.combine(result, data));
        own.copy_from_slice(result);
        Ok(())
    }
}

fn check(atomic: Atomic, len_bytes: usize) -> Result<(), Error> {
    let (function, each) = (atomic.function(), atomic.datum().size_bytes());
    let refused = |text: String| Err(Error::InvalidArgument(text));
    if !function.has_operand() || function.compares() {
        return refused(format!("{function:?} does not combine two elements"));
    }
    match len_bytes.is_multiple_of(each) {
        true => Ok(()),
        false => refused(format!("{len_bytes} bytes are not elements of {each}")),
    }
}
