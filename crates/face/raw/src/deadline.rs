//! The end of a wait. The clock is first read when the wait turns out to be one: most end before that.

use std::time::{Duration, Instant};

/// When a wait ends.
#[derive(Debug)]
pub struct Deadline {
    timeout: Option<Duration>,
    at: Option<Instant>,
}

impl Deadline {
    /// So long from the first look on; `None` for never.
    pub fn after(timeout: Option<Duration>) -> Self {
        Self { timeout, at: None }
    }

    /// When it is; a time too far away to be told is never.
    pub fn at(&mut self) -> Option<Instant> {
        let timeout = self.timeout?;
        if self.at.is_none() {
            self.at = Instant::now().checked_add(timeout);
            if self.at.is_none() {
                self.timeout = None;
            }
        }
        self.at
    }

    /// Whether it has come.
    pub fn is_over(&mut self) -> bool {
        if self.timeout == Some(Duration::ZERO) {
            return true;
        }
        self.at().is_some_and(|at| Instant::now() >= at)
    }

    /// Whether the caller wants no waiting at all.
    pub fn is_now(&self) -> bool {
        self.timeout == Some(Duration::ZERO)
    }
}
