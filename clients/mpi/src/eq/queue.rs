//! What an event queue holds: events as bytes, in the order in which they came, errors among them.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr;

use crate::abi::{FI_EOVERRUN, fid};

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// `FI_AV_COMPLETE` and so on, or a number of the program's own.
    pub kind: u32,
    /// The entry, as the program reads it.
    pub bytes: Vec<u8>,
}

/// Something that has gone wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// On which object.
    pub fid: *mut fid,
    /// The program's word for the operation.
    pub context: *mut c_void,
    /// Which part of it.
    pub data: u64,
    /// `FI_E...`, positive.
    pub err: i32,
    /// What failed, why, and what to do.
    pub text: String,
}

// SAFETY: the pointers are numbers to us: nobody here looks where they lead.
unsafe impl Send for Failed {}

/// Why no event can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEvent {
    /// There is none.
    Empty,
    /// An error is next: [`Queue::take_failed`] takes it.
    Failed,
    /// It is longer than the reader's memory.
    TooLong,
}

/// The queue.
#[derive(Debug)]
pub struct Queue {
    entries: VecDeque<Entry>,
    size: usize,
}

#[derive(Debug)]
enum Entry {
    Event(Event),
    Failed(Failed),
}

impl Queue {
    /// For so many.
    pub fn new(size: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            size,
        }
    }

    /// Whether there is nothing to be had.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether one more has no room.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.size
    }

    /// Something has happened. In a full queue that is an error, once, and then nothing.
    pub fn push(&mut self, event: Event) {
        self.push_entry(Entry::Event(event));
    }

    /// Something has gone wrong. The same.
    pub fn push_failed(&mut self, failed: Failed) {
        self.push_entry(Entry::Failed(failed));
    }

    fn push_entry(&mut self, entry: Entry) {
        match self.entries.len() {
            len if len < self.size => self.entries.push_back(entry),
            len if len == self.size => self.entries.push_back(Entry::Failed(overrun(self.size))),
            _ => {}
        }
    }

    /// Reads the next event into memory of so many bytes, and leaves it there if the reader only `peeks`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn read(&mut self, room: usize, peeks: bool) -> Result<Event, NoEvent> {
        match self.entries.front() {
            None => Err(NoEvent::Empty),
            Some(Entry::Failed(_)) => Err(NoEvent::Failed),
            Some(Entry::Event(event)) if event.bytes.len() > room => Err(NoEvent::TooLong),
            Some(Entry::Event(event)) if peeks => Ok(event.clone()),
            Some(Entry::Event(_)) => match self.entries.pop_front() {
                Some(Entry::Event(event)) => Ok(event),
                _ => Err(NoEvent::Empty),
            },
        }
    }

    /// Takes the error that is next, if one is.
    pub fn take_failed(&mut self) -> Option<Failed> {
        match self.entries.front() {
            Some(Entry::Failed(_)) => match self.entries.pop_front() {
                Some(Entry::Failed(failed)) => Some(failed),
                _ => None,
            },
            _ => None,
        }
    }
}

fn overrun(size: usize) -> Failed {
    Failed {
        fid: ptr::null_mut(),
        context: ptr::null_mut(),
        data: 0,
        err: FI_EOVERRUN,
        text: format!(
            "events were lost, for the queue of {size} was full: read it more often, or open it with a larger size"
        ),
    }
}
