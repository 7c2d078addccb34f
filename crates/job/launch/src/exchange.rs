//! The launcher's side of `bcl::Job::exchange`: when every process has given a blob, each gets all of them.
//!
//! Only bytes come in and go out here; the sockets are the supervisor's.

use bcl::job::BLOB_MAX;

const LEN_BYTES: usize = 4;

/// The talk with all processes of a job.
#[derive(Debug)]
pub struct Exchange {
    talks: Vec<Talk>,
}

#[derive(Debug, Default)]
struct Talk {
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    is_over: bool,
}

/// A process said something that is no blob.
#[derive(Debug, PartialEq, Eq)]
pub struct Nonsense;

impl Exchange {
    pub fn new(size: usize) -> Self {
        Self {
            talks: (0..size).map(|_| Talk::default()).collect(),
        }
    }

    /// Number of processes.
    pub fn size(&self) -> usize {
        self.talks.len()
    }

    /// Bytes came from a process.
    pub fn take_in(&mut self, rank: usize, bytes: &[u8]) -> Result<(), Nonsense> {
        self.talks[rank].inbox.extend_from_slice(bytes);
        if blob_len(&self.talks[rank].inbox).is_some_and(|len| len > BLOB_MAX) {
            return Err(Nonsense);
        }
        while self.talks.iter().all(Talk::has_blob) {
            self.hand_out();
        }
        Ok(())
    }

    fn hand_out(&mut self) {
        let blobs: Vec<u8> = self.talks.iter_mut().flat_map(Talk::pop_blob).collect();
        for talk in &mut self.talks {
            talk.outbox.extend_from_slice(&blobs);
        }
    }

    /// What has to be written to a process.
    pub fn outbox(&mut self, rank: usize) -> &mut Vec<u8> {
        &mut self.talks[rank].outbox
    }

    pub fn has_outbox(&self, rank: usize) -> bool {
        !self.talks[rank].outbox.is_empty()
    }

    /// A process says no more: it has ended, or closed its end.
    pub fn end(&mut self, rank: usize) {
        self.talks[rank].is_over = true;
    }

    /// Those who wait for somebody that will never come. To be told by closing their sockets.
    pub fn waiting_in_vain(&self) -> Vec<usize> {
        let is_hopeless = self
            .talks
            .iter()
            .any(|talk| talk.is_over && !talk.has_blob());
        let talks = self.talks.iter().enumerate();
        let waiting = talks.filter(|(_, talk)| {
            is_hopeless && talk.has_blob() && talk.outbox.is_empty() && !talk.is_over
        });
        waiting.map(|(rank, _)| rank).collect()
    }
}

impl Talk {
    fn has_blob(&self) -> bool {
        blob_len(&self.inbox).is_some_and(|len| self.inbox.len() >= LEN_BYTES + len)
    }

    /// The oldest blob, with its length before it.
    fn pop_blob(&mut self) -> Vec<u8> {
        let len = blob_len(&self.inbox).unwrap_or(0);
        let end = (LEN_BYTES + len).min(self.inbox.len());
        self.inbox.drain(..end).collect()
    }
}

fn blob_len(inbox: &[u8]) -> Option<usize> {
    let len = inbox.first_chunk::<LEN_BYTES>()?;
    Some(u32::from_le_bytes(*len) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(bytes: &[u8]) -> Vec<u8> {
        let mut blob = (bytes.len() as u32).to_le_bytes().to_vec();
        blob.extend_from_slice(bytes);
        blob
    }

    #[test]
    fn all_blobs_go_to_all_by_rank_once_the_last_has_come() {
        let mut exchange = Exchange::new(2);
        exchange.take_in(1, &blob(b"one")).unwrap();
        assert!(exchange.outbox(1).is_empty());
        for byte in blob(b"zero") {
            exchange.take_in(0, &[byte]).unwrap();
        }
        let all = [blob(b"zero"), blob(b"one")].concat();
        assert_eq!(*exchange.outbox(0), all);
        assert_eq!(*exchange.outbox(1), all);
    }

    #[test]
    fn a_second_round_may_begin_before_all_have_taken_the_first() {
        let mut exchange = Exchange::new(2);
        exchange
            .take_in(0, &[blob(b"a"), blob(b"b")].concat())
            .unwrap();
        exchange.take_in(1, &blob(b"c")).unwrap();
        assert_eq!(*exchange.outbox(1), [blob(b"a"), blob(b"c")].concat());
        exchange.take_in(1, &blob(b"")).unwrap();
        let both = [blob(b"a"), blob(b"c"), blob(b"b"), blob(b"")].concat();
        assert_eq!(*exchange.outbox(0), both);
    }

    #[test]
    fn a_blob_that_is_too_long_is_nonsense() {
        let mut exchange = Exchange::new(1);
        let len = (BLOB_MAX as u32 + 1).to_le_bytes();
        assert_eq!(exchange.take_in(0, &len), Err(Nonsense));
    }

    #[test]
    fn who_waits_for_one_that_has_ended_waits_in_vain() {
        let mut exchange = Exchange::new(3);
        exchange.take_in(0, &blob(b"x")).unwrap();
        assert!(exchange.waiting_in_vain().is_empty());
        exchange.end(2);
        assert_eq!(exchange.waiting_in_vain(), [0]);
    }
}
