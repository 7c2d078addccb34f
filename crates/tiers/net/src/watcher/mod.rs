//! The thread that stands in for programs that compute: one a process, asleep unless something is to be watched.
//!
//! A program that polls receives its packets itself, and one that waits sleeps on their sources; both need nobody. For one that does
//! neither, this thread acknowledges, retransmits and serves one-sided access. Which it is, is seen from a counter
//! of the program's visits: while it moves, the thread looks again after a moment; once it stands still, the thread
//! listens on the sources of its packets.
//!
//! Here is how ports come and go; `thread` is what the thread does, and `watched` how it treats one port.

mod thread;
mod watched;

use std::io;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bcl_os::PerProcess;

use crate::engine::open::OpenError;
use crate::station::Station;
use thread::Watcher;

/// How long each port of a process that exits waits for its peers.
const FAREWELL: Duration = Duration::from_millis(100);

/// What a port asks of the thread.
#[derive(Debug)]
pub enum Command {
    Join(Arc<Station>),
    Leave(Arc<Station>, SyncSender<()>),
    Stop,
}

/// How ports reach the thread.
pub type Mailbox = bcl_tier::background::Mailbox<Command>;

struct Running {
    mailbox: Arc<Mailbox>,
    thread: JoinHandle<()>,
    stations: Vec<Arc<Station>>,
}

static RUNNING: PerProcess<Mutex<Option<Running>>> = PerProcess::new(Mutex::default);

fn running() -> MutexGuard<'static, Option<Running>> {
    RUNNING.get().lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the thread watch a port, which `make` makes with the way to reach the thread; the first port starts it.
pub fn join(
    make: impl FnOnce(Arc<Mailbox>) -> Result<Station, OpenError>,
) -> Result<Arc<Station>, OpenError> {
    bcl_tier::exit::at_exit(farewell);
    let mut current = running();
    // One that has died does nothing for anybody: its ports know, and another begins.
    drop(current.take_if(|running| running.mailbox.has_ended()));
    let started = match current.take() {
        Some(running) => running,
        None => start().map_err(OpenError::Thread)?,
    };
    let running = current.insert(started);
    let made = make(Arc::clone(&running.mailbox)).map(Arc::new);
    match &made {
        Ok(station) => {
            running.stations.push(Arc::clone(station));
            running.mailbox.enroll(station.port());
            running.mailbox.send(Command::Join(Arc::clone(station)));
        }
        Err(_) if running.stations.is_empty() => stop(current.take()),
        Err(_) => {}
    }
    made
}

/// Returns when the thread no longer touches the port; the last port ends the thread.
pub fn leave(station: &Arc<Station>) {
    let mailbox = station.watcher();
    mailbox.dismiss(station.port());
    let (done, wait) = std::sync::mpsc::sync_channel(1);
    mailbox.send(Command::Leave(Arc::clone(station), done));
    // An error if the thread has died: then it touches nothing either.
    let _ = wait.recv();
    let mut current = running();
    let Some(running) = current
        .as_mut()
        .filter(|running| Arc::ptr_eq(&running.mailbox, mailbox))
    else {
        return;
    };
    running
        .stations
        .retain(|other| !Arc::ptr_eq(other, station));
    if running.stations.is_empty() {
        stop(current.take());
    }
}

/// The process exits with ports open: their peers are told, as far as that takes no longer than a moment.
fn farewell(_: i32) {
    let Ok(current) = RUNNING.get().try_lock() else {
        return;
    };
    if let Some(running) = &*current {
        for station in &running.stations {
            station.close(FAREWELL);
        }
    }
}

fn start() -> io::Result<Running> {
    let mailbox = Mailbox::new("bcl-net")?;
    let mut watcher = Watcher::new(Arc::clone(&mailbox))?;
    let thread = mailbox.spawn(move || watcher.run())?;
    Ok(Running {
        mailbox,
        thread,
        stations: Vec::new(),
    })
}

fn stop(running: Option<Running>) {
    if let Some(running) = running {
        running.mailbox.send(Command::Stop);
        let _ = running.thread.join();
    }
}
