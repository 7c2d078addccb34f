//! For how long a connection goes on without the interface program.

use bcl_types::{Span, Time};

/// When a connection that the interface program does not have is to be entered.
#[derive(Debug, Default)]
pub struct Absence {
    until: Option<Time>,
    pause: Span,
}

impl Absence {
    /// It begins, and lasts twice as long as the last time. Until when.
    pub fn begin(&mut self, now: Time, first: Span, last: Span) -> Time {
        let was_long_ago = self.until.is_some_and(|until| now.since(until) > last);
        self.pause = match was_long_ago {
            true => first,
            false => self.pause.times(2).max(first).min(last),
        };
        let until = now + self.pause;
        self.until = Some(until);
        until
    }

    pub fn last_until(&mut self, until: Time) {
        self.until = Some(until);
    }

    pub fn until(&self) -> Option<Time> {
        self.until
    }
}
