//! What a completion queue holds: completions in the order in which they came, those that went wrong among them.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr;

use crate::abi::{FI_ADDR_NOTAVAIL, FI_EOVERRUN};

/// An operation that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The program's word for the operation.
    pub context: *mut c_void,
    /// What it was, and what came with it: `FI_RECV`, `FI_TAGGED`, `FI_REMOTE_CQ_DATA`, ...
    pub flags: u64,
    /// Bytes received.
    pub len: usize,
    /// Where they are, of a receive into a part of a buffer.
    pub buf: *mut c_void,
    /// What the sender has sent along.
    pub data: u64,
    /// The tag.
    pub tag: u64,
    /// Who has sent it, in the endpoint's address vector, or [`FI_ADDR_NOTAVAIL`].
    pub source: u64,
}

// SAFETY: the pointers are numbers to us: nobody here looks where they lead.
unsafe impl Send for Completion {}

/// An operation that has ended without being what was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What it was, and how much of it was done.
    pub operation: Completion,
    /// Bytes for which there was no room.
    pub overflow_len: usize,
    /// `FI_E...`, positive.
    pub err: i32,
    /// What failed, on which object, why, and what to do.
    pub text: String,
}

/// What is next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing is there.
    Nothing,
    /// This one, which is taken out.
    Done(Completion),
    /// One that went wrong, which stays: [`Queue::take_failed`] takes it.
    Failed,
}

/// The queue. What does not fit is lost and counted, and where it would have been stands an error that says so.
#[derive(Debug)]
pub struct Queue {
    entries: VecDeque<Entry>,
    size: usize,
}

#[derive(Debug)]
enum Entry {
    Done(Completion),
    Failed(Box<Failed>),
    Overrun(u64),
}

impl Queue {
    /// For so many.
    pub fn new(size: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            size,
        }
    }

    /// How many more fit: who starts no operation without room loses none.
    pub fn room(&self) -> usize {
        self.size.saturating_sub(self.entries.len())
    }

    /// Whether there is nothing to be had.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// An operation is complete.
    #[inline]
    pub fn push(&mut self, completion: Completion) {
        self.push_entry(|| Entry::Done(completion));
    }

    /// An operation has gone wrong.
    pub fn push_failed(&mut self, failed: Failed) {
        self.push_entry(|| Entry::Failed(Box::new(failed)));
    }

    #[inline]
    fn push_entry(&mut self, entry: impl FnOnce() -> Entry) {
        if self.room() > 0 {
            self.entries.push_back(entry());
        } else if let Some(Entry::Overrun(lost)) = self.entries.back_mut() {
            *lost += 1;
        } else {
            self.entries.push_back(Entry::Overrun(1));
        }
    }

    /// Takes what is next, unless that went wrong.
    #[inline]
    pub fn take(&mut self) -> Next {
        match self.entries.front() {
            None => Next::Nothing,
            Some(Entry::Failed(_) | Entry::Overrun(_)) => Next::Failed,
            Some(&Entry::Done(completion)) => {
                self.entries.pop_front();
                Next::Done(completion)
            }
        }
    }

    /// Takes what is next, if that went wrong.
    pub fn take_failed(&mut self) -> Option<Failed> {
        if matches!(self.entries.front(), None | Some(Entry::Done(_))) {
            return None;
        }
        match self.entries.pop_front()? {
            Entry::Done(_) => None,
            Entry::Failed(failed) => Some(*failed),
            Entry::Overrun(lost) => Some(self.overrun(lost)),
        }
    }

    fn overrun(&self, lost: u64) -> Failed {
        let size = self.size;
        Failed {
            operation: Completion {
                context: ptr::null_mut(),
                flags: 0,
                len: 0,
                buf: ptr::null_mut(),
                data: 0,
                tag: 0,
                source: FI_ADDR_NOTAVAIL,
            },
            overflow_len: 0,
            err: FI_EOVERRUN,
            text: format!(
                "{lost} completions were lost, for the queue of {size} was full: read it more often, or open it with a \
                 larger size (FI_BCL_CQ_SIZE, if the program names none)"
            ),
        }
    }
}
