//! Noticing that the other end is gone although nothing says so: a machine without power sends no farewell.

use std::time::{Duration, Instant};

/// One end's watch: it says something now and then, and expects as much.
#[derive(Debug)]
pub struct Pulse {
    patience: Duration,
    heard_at: Instant,
    said_at: Instant,
}

impl Pulse {
    /// `patience`: how long the other end may be silent.
    pub fn new(patience: Duration) -> Self {
        let now = Instant::now();
        Self {
            patience,
            heard_at: now,
            said_at: now,
        }
    }

    /// Something has come.
    pub fn hear(&mut self) {
        self.heard_at = Instant::now();
    }

    /// Whether to say something now. If so, it counts as said.
    pub fn is_due(&mut self) -> bool {
        let is_due = Instant::now() >= self.next_said();
        if is_due {
            self.said_at = Instant::now();
        }
        is_due
    }

    /// Whether the other end has been silent for too long.
    pub fn is_lost(&self) -> bool {
        self.heard_at.elapsed() >= self.patience
    }

    /// When one of these comes true.
    pub fn next_time(&self) -> Instant {
        self.next_said().min(self.heard_at + self.patience)
    }

    /// Often enough that one or two may come late.
    fn next_said(&self) -> Instant {
        self.said_at + self.patience / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_noticed_and_speech_is_due() {
        let mut pulse = Pulse::new(Duration::ZERO);
        assert!(pulse.is_lost() && pulse.is_due());
        let mut pulse = Pulse::new(Duration::from_secs(1000));
        assert!(!pulse.is_lost() && !pulse.is_due());
        pulse.hear();
        assert!(pulse.next_time() > Instant::now());
    }
}
