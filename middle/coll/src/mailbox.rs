//! Messages of a billboard, and those that have come before somebody wanted them ([COLL-2.2]).

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use bcl_bbp::{Billboard, Error, Received};

use crate::error::Broken;
use crate::header::{HEADER_BYTES, Header};

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

/// What there is for this process.
#[derive(Debug)]
pub struct Mailbox {
    /// By what they are for, and whose they are.
    early: HashMap<(u64, u16), VecDeque<Vec<u8>>>,
    /// Groups that can do nothing more, by context: who says so, and why.
    broken: HashMap<u32, (u16, Broken)>,
    /// The message that was taken last.
    taken: Vec<u8>,
}

impl Mailbox {
    /// For messages that carry so much at most.
    pub fn new(payload_max_bytes: usize) -> Self {
        Self {
            early: HashMap::new(),
            broken: HashMap::new(),
            taken: vec![0; HEADER_BYTES + payload_max_bytes],
        }
    }

    /// Gives a message of a member to `take`, if it is there. What has come beside it is kept.
    pub fn look<T>(
        &mut self,
        board: &Billboard,
        from: u16,
        wanted: Header,
        take: impl FnOnce(Header, &[u8]) -> T,
    ) -> Result<Option<T>, Error> {
        let key = wanted.key();
        if let Some(message) = self.take_early(key, from) {
            return Ok(Header::split(&message).map(|(header, payload)| take(header, payload)));
        }
        // The one that is waited for first; then all others, that nobody waits for us.
        for only in [Some(from), None] {
            while let Some(received) = self.receive(board, only)? {
                let message = &self.taken[..received.len_bytes];
                if let Some((header, payload)) = Header::split(message) {
                    if received.from == from && header.key() == key && !header.is_the_end() {
                        return Ok(Some(take(header, payload)));
                    }
                }
                self.keep(received);
            }
        }
        Ok(None)
    }

    /// Takes all that is there, for later.
    pub fn drain(&mut self, board: &Billboard) -> Result<(), Error> {
        while let Some(received) = self.receive(board, None)? {
            self.keep(received);
        }
        Ok(())
    }

    /// Whether somebody has told that a group can do nothing more, and why.
    pub fn broken(&self, context: u32) -> Option<(u16, Broken)> {
        self.broken.get(&context).copied()
    }

    /// The group is there no more, and another may have its context.
    pub fn forget(&mut self, context: u32) {
        self.broken.remove(&context);
    }

    /// The message that was taken last, for later.
    fn keep(&mut self, received: Received) {
        let message = &self.taken[..received.len_bytes];
        let from = received.from;
        match Header::split(message) {
            Some((header, why)) if header.is_the_end() => {
                let told = (from, Broken::from_bytes(why));
                self.broken.entry(header.context).or_insert(told);
            }
            Some((header, _)) => {
                let early = self.early.entry((header.key(), from));
                early.or_default().push_back(message.to_vec());
            }
            None => {}
        }
    }

    fn take_early(&mut self, key: u64, from: u16) -> Option<Vec<u8>> {
        if self.early.is_empty() {
            return None;
        }
        let queue = self.early.get_mut(&(key, from))?;
        let message = queue.pop_front();
        if queue.is_empty() {
            self.early.remove(&(key, from));
        }
        message
    }

    fn receive(&mut self, board: &Billboard, from: Option<u16>) -> Result<Option<Received>, Error> {
        loop {
            match board.receive(from, &mut self.taken, AT_ONCE) {
                // Who waits for it is told that it has gone; others go on.
                Err(Error::MemberGone) => while board.event()?.is_some() {},
                Err(Error::Gone { .. }) => return Ok(None),
                received => return received,
            }
        }
    }
}
