//! The processes that do things together, in groups.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bcl_bbp::{Billboard, Error as BoardError, Options, Watch};
use bcl_reflect::Life;

use crate::error::Error;
use crate::group::Group;
use crate::header::Header;
use crate::mailbox::Mailbox;

/// Longer ones go in pieces, so that some are read while others are written.
pub const PIECE_BYTES: usize = 16 << 10;
/// The group of all has this context.
const EVERYBODY: u32 = 0;
/// How long a thread that has something else to do meanwhile waits at first, and at most, before it does that.
const MEANWHILE: (Duration, Duration) = (Duration::from_micros(20), Duration::from_micros(100));
/// How often is looked who has come: nobody is woken by it.
const ARRIVALS: Duration = Duration::from_millis(1);
/// So long room for the last message of a group is waited for.
const LAST_WORD: Duration = Duration::from_millis(100);

/// Processes with a billboard between them. Threads may share it.
#[derive(Debug, Clone)]
pub struct Team {
    inside: Arc<Inside>,
}

#[derive(Debug)]
struct Inside {
    board: Billboard,
    mailbox: Mutex<Mailbox>,
    meanwhile: OnceLock<Meanwhile>,
}

/// What a thread does while it waits.
struct Meanwhile(Box<dyn Fn() + Send + Sync>);

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meanwhile")
    }
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
        let meanwhile = OnceLock::new();
        let inside = Arc::new(Inside {
            board,
            mailbox,
            meanwhile,
        });
        Ok(Self { inside })
    }

    /// Waits until all have joined. False if they have not, within the time; `None` is for ever. Between hosts that is when this host knows of them.
    ///
    /// # Errors
    /// [`Error::Board`] if one of them has ended.
    pub fn wait_for_all(&self, timeout: Option<Duration>) -> Result<bool, Error> {
        self.wait_for_lives(0..self.members(), timeout, |member, life| match life {
            Life::Gone(cause) => Err(BoardError::Gone { member, cause }.into()),
            life => Ok(life == Life::There),
        })
    }

    /// Waits until it is known of each member of a group whether it is there, or has been.
    pub(crate) fn wait_until_known(&self, members: &[u16], context: u32) -> Result<(), Error> {
        let members = members.iter().copied();
        self.wait_for_lives(members, None, |_, life| {
            if life == Life::Never {
                let mut mailbox = self.mailbox();
                mailbox.drain(self.board())?;
                check_whole(&mailbox, context)?;
            }
            Ok(life != Life::Never)
        })?;
        Ok(())
    }

    /// Waits until it is so of each of these; false if it is not, within the time.
    fn wait_for_lives(
        &self,
        members: impl Iterator<Item = u16> + Clone,
        timeout: Option<Duration>,
        is_so: impl Fn(u16, Life) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let board = self.board();
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let nothing = Watch::default();
        loop {
            let mut are_all = true;
            for member in members.clone() {
                are_all &= is_so(member, board.life(member)?)?;
            }
            if are_all || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(are_all);
            }
            let meanwhile = self.inside.meanwhile.get();
            let pause = meanwhile.map_or(ARRIVALS, |_| MEANWHILE.1);
            if !board.wait_for_change(&nothing, Some(pause))?
                && let Some(meanwhile) = meanwhile
            {
                (meanwhile.0)();
            }
        }
    }

    /// Has threads that wait in a call do this again and again: from now on, and as long as the team is there. For who has to keep something
    /// else going, and would else sleep. False if there is something already, which stays.
    ///
    /// It does not call the team or its groups, and does not panic.
    pub fn do_while_waiting(&self, what: impl Fn() + Send + Sync + 'static) -> bool {
        let what = Meanwhile(Box::new(what));
        self.inside.meanwhile.set(what).is_ok()
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
        let (board, of, header) = (self.board(), header, header.to_bytes());
        loop {
            let parts = [&header[..], payload];
            match board.multicast_parts(to, parts, Some(Duration::ZERO)) {
                Err(BoardError::Full(_)) => {}
                posted => return Ok(posted?),
            }
            let watch = {
                let mut mailbox = self.mailbox();
                mailbox.drain(board)?;
                check_whole(&mailbox, of.context)?;
                board.watch_messages_and_room()
            };
            self.wait(&watch)?;
        }
    }

    /// The last message of a group, to those of them who are there.
    pub(crate) fn tell(&self, to: &[u16], header: Header, payload: &[u8]) {
        let board = self.board();
        let is_there = |member: &u16| !matches!(board.life(*member), Ok(Life::Gone(_)));
        let to: Vec<u16> = to.iter().copied().filter(is_there).collect();
        // Who does not hear of it may learn what has happened by itself.
        let _ = board.multicast_parts(&to, [&header.to_bytes(), payload], Some(LAST_WORD));
    }

    /// A group is there no more.
    pub(crate) fn forget(&self, context: u32) {
        self.mailbox().forget(context);
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
                check_whole(&mailbox, wanted.context)?;
                // Under the lock: what another thread takes for us changes what was seen here.
                board.watch_messages()
            };
            if let Life::Gone(cause) = life {
                let member = from;
                return Err(BoardError::Gone { member, cause }.into());
            }
            self.wait(&watch)?;
        }
    }

    fn wait(&self, watch: &Watch) -> Result<(), Error> {
        let board = self.board();
        let Some(meanwhile) = self.inside.meanwhile.get() else {
            board.wait_for_change(watch, None)?;
            return Ok(());
        };
        let (mut pause, longest) = MEANWHILE;
        while !board.wait_for_change(watch, Some(pause))? {
            (meanwhile.0)();
            pause = longest.min(pause * 2);
        }
        Ok(())
    }
}

fn check_whole(mailbox: &Mailbox, context: u32) -> Result<(), Error> {
    match mailbox.broken(context) {
        Some((by, why)) => Err(Error::Broken { by, why }),
        None => Ok(()),
    }
}
