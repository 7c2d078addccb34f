//! The processes that do things together, in groups.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bcl_bbp::{Billboard, Error as BoardError, Options};
use bcl_reflect::Life;

use crate::error::Error;
use crate::group::Group;
use crate::header::Header;
use crate::mailbox::Mailbox;

/// Longer ones go in pieces, so that some are read while others are written.
pub const PIECE_BYTES: usize = 16 << 10;
/// The group of all has this context.
const EVERYBODY: u32 = 0;

/// Processes with a billboard between them. Threads may share it.
#[derive(Debug, Clone)]
pub struct Team {
    inside: Arc<Inside>,
}

#[derive(Debug)]
struct Inside {
    board: Billboard,
    mailbox: Mutex<Mailbox>,
}

impl Team {
    /// Joins a billboard that is used for nothing else.
    ///
    /// # Errors
    /// Those of [`bcl_bbp::Options::join`], and [`Error::InvalidArgument`] if its messages are too short.
    pub fn join(options: Options) -> Result<Self, Error> {
        let board = options.join()?;
        let least = PIECE_BYTES + crate::header::HEADER_BYTES;
        if board.message_max_bytes() < least {
            return Err(Error::InvalidArgument(format!(
                "a team needs {least} bytes for each member's messages, and has {}",
                board.message_max_bytes()
            )));
        }
        let mailbox = Mutex::new(Mailbox::new(PIECE_BYTES));
        let inside = Arc::new(Inside { board, mailbox });
        Ok(Self { inside })
    }

    /// Which of the processes this is.
    pub fn member(&self) -> u16 {
        self.board().member()
    }

    /// How many there can be.
    pub fn members(&self) -> u16 {
        self.board().members()
    }

    /// All of them, in order: context 0.
    ///
    /// # Errors
    /// As [`group`](Self::group).
    pub fn everybody(&self) -> Result<Group, Error> {
        let all: Vec<u16> = (0..self.members()).collect();
        self.group(&all, EVERYBODY)
    }

    /// Some of them, in this order, each once, this process among them. All of them say the same. Groups that have members in common, and are
    /// there at the same time, have different contexts, up to [`CONTEXT_MAX`](crate::CONTEXT_MAX).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`].
    pub fn group(&self, members: &[u16], context: u32) -> Result<Group, Error> {
        Group::new(self.clone(), members, context)
    }

    /// Leaves it: no group of it can do anything any more. Dropping the last of its copies and groups does the same.
    ///
    /// # Errors
    /// [`Error::Board`] if it was left before, or belongs to the parent process.
    pub fn leave(&self) -> Result<(), Error> {
        Ok(self.board().leave()?)
    }

    pub(crate) fn board(&self) -> &Billboard {
        &self.inside.board
    }

    fn mailbox(&self) -> MutexGuard<'_, Mailbox> {
        let mailbox = self.inside.mailbox.lock();
        mailbox.unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts for several. While there is no room it reads: others may wait for that before they read.
    pub(crate) fn post(&self, to: &[u16], header: Header, payload: &[u8]) -> Result<(), Error> {
        let (board, header) = (self.board(), header.to_bytes());
        loop {
            let parts = [&header[..], payload];
            match board.multicast_parts(to, parts, Some(Duration::ZERO)) {
                Err(BoardError::Full(_)) => {}
                posted => return Ok(posted?),
            }
            let watch = {
                let mut mailbox = self.mailbox();
                mailbox.drain(board)?;
                board.watch_messages_and_room()
            };
            board.wait_for_change(&watch, None)?;
        }
    }

    /// Waits for a message of a member, and gives it to `take`.
    pub(crate) fn expect<T>(
        &self,
        from: u16,
        wanted: Header,
        mut take: impl FnMut(Header, &[u8]) -> T,
    ) -> Result<T, Error> {
        let board = self.board();
        loop {
            // Before the look: what a member has posted, it has posted before its end.
            let life = board.life(from)?;
            let watch = {
                let mut mailbox = self.mailbox();
                if let Some(taken) = mailbox.look(board, from, wanted, &mut take)? {
                    return Ok(taken);
                }
                // Under the lock: what another thread takes for us changes what was seen here.
                board.watch_messages()
            };
            if let Life::Gone(cause) = life {
                let member = from;
                return Err(BoardError::Gone { member, cause }.into());
            }
            board.wait_for_change(&watch, None)?;
        }
    }
}
