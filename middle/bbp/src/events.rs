//! Members that come and end, and what that means for what was posted ([BBP-4]).

use std::collections::VecDeque;

use bcl_reflect::Life;

/// A member has come or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Which.
    pub member: u16,
    /// What it is now: there, or gone.
    pub life: Life,
    /// So many messages that this process had posted for it were taken back, for it has not read them.
    pub taken_back: u32,
}

/// Those that the program has not asked for.
#[derive(Debug, Default)]
pub struct Events {
    waiting: VecDeque<Event>,
    /// So many of them are of members that have ended.
    ends: usize,
}

impl Events {
    pub fn add(&mut self, event: Event) {
        self.ends += usize::from(event.is_end());
        self.waiting.push_back(event);
    }

    pub fn take(&mut self) -> Option<Event> {
        let event = self.waiting.pop_front()?;
        self.ends -= usize::from(event.is_end());
        Some(event)
    }

    /// Whether the program has still to hear that somebody has ended.
    pub fn has_ends(&self) -> bool {
        self.ends > 0
    }
}

impl Event {
    fn is_end(&self) -> bool {
        matches!(self.life, Life::Gone(_))
    }
}
