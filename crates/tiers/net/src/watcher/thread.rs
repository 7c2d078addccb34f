//! What the thread does: it waits for the mailbox, the sources of packets, and the time to look at a port.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use bcl_os::Fd;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use super::watched::Watched;
use super::{Command, Mailbox};

/// Event data of the mailbox; ports are numbered from 1.
const MAILBOX: u64 = 0;

/// The thread, and the ports that it watches.
pub struct Watcher {
    epoll: Fd,
    mailbox: Arc<Mailbox>,
    watched: Vec<Watched>,
    next_number: u64,
}

impl Watcher {
    pub fn new(mailbox: Arc<Mailbox>) -> io::Result<Self> {
        let epoll = Fd::make(|| epoll::create(CreateFlags::CLOEXEC))?;
        let data = EventData::new_u64(MAILBOX);
        epoll::add(&epoll, mailbox.as_ref(), data, EventFlags::IN)?;
        Ok(Self {
            epoll,
            mailbox,
            watched: Vec::new(),
            next_number: MAILBOX + 1,
        })
    }

    /// Until told to stop, or until the kernel does not let it wait.
    pub fn run(&mut self) -> Result<(), Errno> {
        let mut events = Vec::with_capacity(64);
        loop {
            events.clear();
            let patience = self.patience();
            let room = rustix::buffer::spare_capacity(&mut events);
            let waited = epoll::wait(&self.epoll, room, patience.as_ref());
            match waited {
                Err(errno) if errno != Errno::INTR => return Err(errno),
                _ => {}
            }
            for event in &events {
                let number = event.data.u64();
                if number == MAILBOX {
                    if !self.obey() {
                        return Ok(());
                    }
                    self.watched.iter_mut().for_each(Watched::look_now);
                } else if let Some(watched) = self.find(number) {
                    watched.look_now();
                }
            }
            let now = Instant::now();
            for watched in &mut self.watched {
                if watched.due().is_some_and(|due| due <= now) {
                    watched.look(&self.epoll, now);
                }
            }
        }
    }

    fn patience(&self) -> Option<Timespec> {
        let due = self.watched.iter().filter_map(Watched::due).min()?;
        Timespec::try_from(due.saturating_duration_since(Instant::now())).ok()
    }

    fn find(&mut self, number: u64) -> Option<&mut Watched> {
        self.watched
            .iter_mut()
            .find(|watched| watched.number() == number)
    }

    /// False when told to stop.
    fn obey(&mut self) -> bool {
        let Some(commands) = self.mailbox.take() else {
            return false;
        };
        for command in commands {
            match command {
                Command::Join(station) => {
                    self.next_number += 1;
                    let number = self.next_number;
                    self.watched.push(Watched::new(station, number));
                }
                Command::Leave(station, done) => {
                    let leaving = self.watched.iter_mut();
                    for watched in leaving.filter(|watched| watched.is_of(&station)) {
                        watched.stop_listening(&self.epoll);
                    }
                    self.watched.retain(|watched| !watched.is_of(&station));
                    // Whoever waits may open the number anew: its socket must be closed by then.
                    drop(station);
                    let _ = done.send(());
                }
                Command::Exit(done) => {
                    self.watched.iter().for_each(Watched::say_goodbye);
                    let _ = done.send(());
                }
            }
        }
        true
    }
}
