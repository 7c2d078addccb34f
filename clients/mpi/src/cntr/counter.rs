//! What a counter is: how many operations are complete, and how many have gone wrong.

/// The numbers. They only go round when they have to: programs set them anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    done: u64,
    failed: u64,
    /// Whether one of them has changed since the program looked.
    changed: bool,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// As many are complete as it wants.
    Threshold,
    /// One more has gone wrong since it began to wait.
    Failure,
}

impl Counter {
    /// How many are complete. From now on nothing has changed.
    pub fn look(&mut self) -> u64 {
        self.changed = false;
        self.done
    }

    /// How many have gone wrong. The same.
    pub fn look_at_failed(&mut self) -> u64 {
        self.changed = false;
        self.failed
    }

    /// How many have gone wrong, for one who waits and does not look.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Whether something has changed since the last look.
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// More are complete.
    pub fn add(&mut self, count: u64) {
        self.set(self.done.wrapping_add(count));
    }

    /// More have gone wrong.
    pub fn add_failed(&mut self, count: u64) {
        self.set_failed(self.failed.wrapping_add(count));
    }

    /// Now so many are complete.
    pub fn set(&mut self, count: u64) {
        self.done = count;
        self.changed = true;
    }

    /// Now so many have gone wrong.
    pub fn set_failed(&mut self, count: u64) {
        self.failed = count;
        self.changed = true;
    }

    /// Whether a thread may go on that waits for `threshold`, and has seen `failed` before.
    pub fn reached(&self, threshold: u64, failed: u64) -> Option<Reached> {
        match self.done >= threshold {
            true => Some(Reached::Threshold),
            false => (self.failed != failed).then_some(Reached::Failure),
        }
    }
}
