//! How far a transfer has come, on standard error if somebody watches.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(200);

/// The line that says how far a transfer has come.
#[derive(Debug)]
pub struct Progress {
    is_watched: bool,
    total_bytes: Option<u64>,
    begin: Instant,
    shown: Option<Instant>,
}

impl Progress {
    pub fn new(total_bytes: Option<u64>) -> Self {
        Self {
            is_watched: std::io::stderr().is_terminal(),
            total_bytes,
            begin: Instant::now(),
            shown: None,
        }
    }

    /// So much has gone over.
    pub fn at(&mut self, done_bytes: u64) {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= PERIOD);
        if self.is_watched && is_due {
            self.shown = Some(Instant::now());
            self.show(done_bytes, "");
        }
    }

    /// That was all.
    pub fn finish(&self, done_bytes: u64) {
        if self.is_watched {
            self.show(done_bytes, "\n");
        }
    }

    fn show(&self, done_bytes: u64, end: &str) {
        let text = describe(done_bytes, self.total_bytes, self.begin.elapsed());
        // Whoever watches progress on a broken terminal has other worries.
        let _ = write!(std::io::stderr(), "\r{text}\x1b[K{end}");
    }
}

fn describe(done_bytes: u64, total_bytes: Option<u64>, elapsed: Duration) -> String {
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let rate = mb(done_bytes) / elapsed.as_secs_f64().max(1e-6);
    match total_bytes {
        Some(total) if total > 0 => {
            let percent = done_bytes as f64 * 100.0 / total as f64;
            format!(
                "{:.1} of {:.1} MB ({percent:.0} %), {rate:.1} MB/s",
                mb(done_bytes),
                mb(total)
            )
        }
        _ => format!("{:.1} MB, {rate:.1} MB/s", mb(done_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_shown_where_the_whole_is_known() {
        let second = Duration::from_secs(1);
        assert_eq!(
            describe(5_000_000, Some(20_000_000), second),
            "5.0 of 20.0 MB (25 %), 5.0 MB/s"
        );
        assert_eq!(describe(5_000_000, None, second), "5.0 MB, 5.0 MB/s");
        assert_eq!(describe(0, Some(0), Duration::ZERO), "0.0 MB, 0.0 MB/s");
    }
}
