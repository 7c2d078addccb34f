//! The launcher's side of `bcl::Job::exchange`: when every process of a group has given a blob, each gets all of them.
//!
//! Only blobs come in and go out here; the sockets are the supervisor's.

use std::collections::VecDeque;

/// The exchanges of one group.
#[derive(Debug)]
pub struct Exchange {
    parts: Vec<Part>,
    /// Blobs that were given and not yet handed out.
    held: usize,
}

/// One process's.
#[derive(Debug, Default)]
struct Part {
    /// Given, and not yet handed out.
    blobs: VecDeque<Vec<u8>>,
    is_over: bool,
}

impl Exchange {
    pub fn new(size: usize) -> Self {
        Self {
            parts: (0..size).map(|_| Part::default()).collect(),
            held: 0,
        }
    }

    /// A process gives a blob. If it was the last that was missing: what each process is to get.
    pub fn give(&mut self, rank: usize, blob: Vec<u8>) -> Option<Vec<u8>> {
        self.parts[rank].blobs.push_back(blob);
        self.held += 1;
        let are_all_there = self.parts.iter().all(|part| !part.blobs.is_empty());
        are_all_there.then(|| {
            self.held -= self.parts.len();
            let blobs = self
                .parts
                .iter_mut()
                .filter_map(|part| part.blobs.pop_front());
            blobs.fold(Vec::new(), |mut all, blob| {
                all.extend_from_slice(&(blob.len() as u32).to_le_bytes());
                all.extend_from_slice(&blob);
                all
            })
        })
    }

    /// A process says no more: it has ended, or closed its end, or was never started.
    pub fn end(&mut self, rank: usize) {
        self.parts[rank].is_over = true;
    }

    /// Those who wait for somebody that will never come. To be told by closing their sockets.
    pub fn waiting_in_vain(&self) -> Vec<usize> {
        let is_hopeless = |part: &Part| part.is_over && part.blobs.is_empty();
        if self.held == 0 || !self.parts.iter().any(is_hopeless) {
            return Vec::new();
        }
        let parts = self.parts.iter().enumerate();
        let waiting = parts.filter(|(_, part)| !part.blobs.is_empty() && !part.is_over);
        waiting.map(|(rank, _)| rank).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blobs(blobs: &[&[u8]]) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        for blob in blobs {
            bcl::job::write_blob(&mut all, blob).unwrap();
        }
        Some(all)
    }

    #[test]
    fn all_blobs_go_to_all_by_rank_once_the_last_has_come() {
        let mut exchange = Exchange::new(2);
        assert_eq!(exchange.give(1, b"one".into()), None);
        assert_eq!(exchange.give(0, b"zero".into()), blobs(&[b"zero", b"one"]));
    }

    #[test]
    fn a_second_round_may_begin_before_all_have_given_to_the_first() {
        let mut exchange = Exchange::new(2);
        assert_eq!(exchange.give(0, b"a".into()), None);
        assert_eq!(exchange.give(0, b"b".into()), None);
        assert_eq!(exchange.give(1, b"c".into()), blobs(&[b"a", b"c"]));
        assert_eq!(exchange.give(1, b"".into()), blobs(&[b"b", b""]));
    }

    #[test]
    fn who_waits_for_one_that_has_ended_waits_in_vain() {
        let mut exchange = Exchange::new(3);
        exchange.give(0, b"x".into());
        assert!(exchange.waiting_in_vain().is_empty());
        exchange.end(2);
        assert_eq!(exchange.waiting_in_vain(), [0]);
    }
}
