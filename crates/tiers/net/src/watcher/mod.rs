//! The thread that stands in for programs that compute: one a process, asleep unless something is to be watched.
//!
//! A program that polls receives its packets itself, and one that waits sleeps on their sources; both need nobody. For one that does
//! neither, this thread acknowledges, retransmits and serves one-sided access. Which it is, is seen from a counter
//! of the program's visits: while it moves as it does for one that polls, the thread looks again after a moment; if it stands
//! still, or nearly, the thread listens on the sources of its packets.
//!
//! Here is how ports come and go; `thread` is what the thread does, `watched` how it treats one port, and `pace` tells whether a
//! program is at work on it.

mod pace;
mod thread;
mod watched;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use bcl_tier::{Background, Body, Shared};

use crate::engine::open::OpenError;
use crate::station::Station;
use thread::Watcher;

/// How long each port of a process that exits waits for its peers.
const FAREWELL: Duration = Duration::from_millis(100);
/// How long the process waits for all of them.
const FAREWELLS: Duration = Duration::from_secs(1);

/// What a port asks of the thread.
#[derive(Debug)]
pub enum Command {
    Join(Arc<Station>),
    Leave(Arc<Station>, SyncSender<()>),
    /// The process exits: the peers of all ports are told.
    Exit(SyncSender<()>),
}

/// How ports reach the thread.
pub type Mailbox = bcl_tier::Mailbox<Command>;

static THREAD: Background<Command> = Background::new("bcl-net", prepare, farewell);

fn prepare(mailbox: &Arc<Mailbox>) -> io::Result<Body> {
    let mut watcher = Watcher::new(Arc::clone(mailbox))?;
    Ok(Box::new(move || watcher.run()))
}

fn farewell(_: i32) {
    THREAD.ask_within(FAREWELLS, Command::Exit);
}

/// Has the thread watch a port, which `make` makes with the way to reach the thread; the first port starts it.
pub fn join(
    port: &Arc<Shared>,
    make: impl FnOnce(Arc<Mailbox>) -> Result<Station, OpenError>,
) -> Result<Arc<Station>, OpenError> {
    let mailbox = THREAD.join(port).map_err(OpenError::Thread)?;
    match make(Arc::clone(&mailbox)) {
        Ok(station) => {
            let station = Arc::new(station);
            mailbox.send(Command::Join(Arc::clone(&station)));
            Ok(station)
        }
        Err(error) => {
            THREAD.leave(&mailbox, port);
            Err(error)
        }
    }
}

/// Returns when the thread no longer touches the port; the last port ends the thread.
pub fn leave(station: &Arc<Station>) {
    let mailbox = station.watcher();
    mailbox.ask(|done| Command::Leave(Arc::clone(station), done));
    THREAD.leave(mailbox, station.port());
}
