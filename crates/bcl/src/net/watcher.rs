//! The thread that stands in for programs that compute: one a process, asleep unless something is to be watched.
//!
//! A program that polls reads its socket itself, and one that waits sleeps on it; both need nobody. For one that does
//! neither, this thread acknowledges, retransmits and serves one-sided access. Which it is, is seen from a counter
//! of the program's visits: while it moves, the thread looks again after a moment; once it stands still, the thread
//! listens on the socket.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bcl_tier_shm::OpenError;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec};

use super::station::Station;
use crate::error::Error;

/// Time between two looks at a program that is at work on its port.
const TICK: Duration = Duration::from_millis(4);
/// Looks at a program that sleeps before it is left to itself.
const LOOKS_AT_A_SLEEPER: u32 = 64;
/// How long each port of a process that exits waits for its peers.
const FAREWELL: Duration = Duration::from_millis(100);
/// Event data of the mailbox; stations are numbered from 1.
const MAILBOX: u64 = 0;

/// What a port asks of the thread.
#[derive(Debug)]
enum Command {
    Join(Arc<Station>),
    Leave(Arc<Station>, SyncSender<()>),
    Stop,
}

/// How ports reach the thread.
#[derive(Debug)]
pub struct Mailbox {
    commands: Mutex<Vec<Command>>,
    wake: OwnedFd,
}

impl Mailbox {
    fn send(&self, command: Command) {
        self.lock().push(command);
        self.kick();
    }

    /// Has the thread look at all ports.
    pub fn kick(&self) {
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Command>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Running {
    mailbox: Arc<Mailbox>,
    thread: JoinHandle<()>,
    stations: Vec<Arc<Station>>,
    generation: u64,
}

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

fn running() -> MutexGuard<'static, Option<Running>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the thread watch a port, which `make` makes with the way to reach the thread; the first port starts it.
pub fn join(
    make: impl FnOnce(Arc<Mailbox>) -> Result<Station, Error>,
) -> Result<Arc<Station>, Error> {
    static BEFORE_ALL: Once = Once::new();
    BEFORE_ALL.call_once(|| bcl_port::exit::at_exit(|_| farewell()));
    let generation = bcl_port::fork::generation();
    let mut current = running();
    // After a fork the parent's thread is not ours: its memory is left alone, and a new one begins.
    if let Some(stale) = current.take_if(|running| running.generation != generation) {
        std::mem::forget(stale);
    }
    let started = match current.take() {
        Some(running) => running,
        None => start(generation).map_err(OpenError::Thread)?,
    };
    let running = current.insert(started);
    let made = make(Arc::clone(&running.mailbox)).map(Arc::new);
    match &made {
        Ok(station) => {
            running.stations.push(Arc::clone(station));
            running.mailbox.send(Command::Join(Arc::clone(station)));
        }
        Err(_) if running.stations.is_empty() => stop(current.take()),
        Err(_) => {}
    }
    made
}

/// Returns when the thread no longer touches the port; the last port ends the thread.
pub fn leave(station: &Arc<Station>) {
    let mut current = running();
    let Some(running) = current.as_mut() else {
        return;
    };
    let (done, wait) = std::sync::mpsc::sync_channel(1);
    let command = Command::Leave(Arc::clone(station), done);
    running.mailbox.send(command);
    let _ = wait.recv();
    running
        .stations
        .retain(|other| !Arc::ptr_eq(other, station));
    if running.stations.is_empty() {
        stop(current.take());
    }
}

/// The process exits with ports open: their peers are told, as far as that takes no longer than a moment.
fn farewell() {
    let Ok(current) = RUNNING.try_lock() else {
        return;
    };
    let generation = bcl_port::fork::generation();
    if let Some(running) = current
        .as_ref()
        .filter(|running| running.generation == generation)
    {
        for station in &running.stations {
            station.close(FAREWELL);
        }
    }
}

fn start(generation: u64) -> io::Result<Running> {
    let wake = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let mailbox = Arc::new(Mailbox {
        commands: Mutex::default(),
        wake,
    });
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let data = EventData::new_u64(MAILBOX);
    epoll::add(&epoll, mailbox.wake.as_fd(), data, EventFlags::IN)?;
    let mut watcher = Watcher {
        epoll,
        mailbox: Arc::clone(&mailbox),
        watched: Vec::new(),
        next_number: MAILBOX + 1,
    };
    let thread = bcl_port::thread::spawn_without_signals("bcl-net", move || watcher.run())?;
    Ok(Running {
        mailbox,
        thread,
        stations: Vec::new(),
        generation,
    })
}

fn stop(running: Option<Running>) {
    if let Some(running) = running {
        running.mailbox.send(Command::Stop);
        let _ = running.thread.join();
    }
}

struct Watcher {
    epoll: OwnedFd,
    mailbox: Arc<Mailbox>,
    watched: Vec<Watched>,
    next_number: u64,
}

impl Watcher {
    fn run(&mut self) {
        let mut events = Vec::with_capacity(64);
        loop {
            events.clear();
            let patience = self.patience();
            let room = rustix::buffer::spare_capacity(&mut events);
            let waited = epoll::wait(&self.epoll, room, patience.as_ref());
            if matches!(waited, Err(errno) if errno != rustix::io::Errno::INTR) {
                return;
            }
            for event in &events {
                let number = event.data.u64();
                if number == MAILBOX {
                    let _ = rustix::io::read(&self.mailbox.wake, &mut [0u8; 8]);
                    if !self.obey() {
                        return;
                    }
                    self.watched.iter_mut().for_each(Watched::unpark);
                } else if let Some(watched) = self.find(number) {
                    watched.due = Some(Instant::now());
                }
            }
            let now = Instant::now();
            for watched in &mut self.watched {
                if watched.due.is_some_and(|due| due <= now) {
                    watched.look(&self.epoll, now);
                }
            }
        }
    }

    fn patience(&self) -> Option<Timespec> {
        let due = self
            .watched
            .iter()
            .filter_map(|watched| watched.due)
            .min()?;
        let left = due.saturating_duration_since(Instant::now());
        Some(Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        })
    }

    fn find(&mut self, number: u64) -> Option<&mut Watched> {
        self.watched
            .iter_mut()
            .find(|watched| watched.number == number)
    }

    /// False when told to stop.
    fn obey(&mut self) -> bool {
        let commands = std::mem::take(&mut *self.mailbox.lock());
        for command in commands {
            match command {
                Command::Join(station) => {
                    self.next_number += 1;
                    let number = self.next_number;
                    self.watched.push(Watched {
                        seen_visits: station.visits(),
                        station,
                        number,
                        is_listening: false,
                        due: Some(Instant::now()),
                        looks_at_sleeper: 0,
                    });
                }
                Command::Leave(station, done) => {
                    self.watched
                        .retain(|watched| !Arc::ptr_eq(&watched.station, &station));
                    let _ = epoll::delete(&self.epoll, station.socket());
                    // Whoever waits may open the number anew: its socket must be closed by then.
                    drop(station);
                    let _ = done.send(());
                }
                Command::Stop => return false,
            }
        }
        true
    }
}

/// A port, and what the thread has seen of its program.
struct Watched {
    station: Arc<Station>,
    number: u64,
    /// The socket is in the epoll set. Not while the program polls it: telling the set would cost each packet
    /// 0.2 us, even if no event is asked for.
    is_listening: bool,
    /// When to look next, if the socket does not say so before.
    due: Option<Instant>,
    seen_visits: u32,
    looks_at_sleeper: u32,
}

impl Watched {
    /// Something has come up that may be due before what was.
    fn unpark(&mut self) {
        self.due = Some(Instant::now());
    }

    fn look(&mut self, epoll: &OwnedFd, now: Instant) {
        self.due = None;
        let visits = self.station.visits();
        let visited = std::mem::replace(&mut self.seen_visits, visits) != visits;
        if self.station.is_asleep() {
            self.looks_at_sleeper += 1;
            if self.looks_at_sleeper < LOOKS_AT_A_SLEEPER || !self.station.leave_to_sleepers() {
                self.due = Some(now + TICK);
            }
            return;
        }
        self.looks_at_sleeper = 0;
        if visited && self.station.has_peers() {
            self.station.look_soon();
            self.due = Some(now + TICK);
            self.stop_listening(epoll);
            return;
        }
        self.due = self.station.serve().map(|timer| now + timer);
        if self.listen(epoll).is_err() {
            self.station.look_soon();
            self.due = Some(now + TICK);
        }
    }

    /// Has the epoll set tell of the next packet.
    fn listen(&mut self, epoll: &OwnedFd) -> rustix::io::Result<()> {
        let data = EventData::new_u64(self.number);
        let once = EventFlags::IN | EventFlags::ONESHOT;
        let socket = self.station.socket();
        match self.is_listening {
            true => epoll::modify(epoll, socket, data, once)?,
            false => epoll::add(epoll, socket, data, once)?,
        }
        self.is_listening = true;
        Ok(())
    }

    fn stop_listening(&mut self, epoll: &OwnedFd) {
        if std::mem::take(&mut self.is_listening) {
            // It is in the set, as we know.
            let _ = epoll::delete(epoll, self.station.socket());
        }
    }
}
