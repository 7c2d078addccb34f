//! The background thread of a tier: one a process, while any port is open that it works for.
//!
//! Here is how it comes and goes with ports, and what becomes of it when the process forks or exits; ports and thread
//! reach each other by a [`Mailbox`], which also tells ports of its death.

mod mailbox;

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bcl_os::PerProcess;
use rustix::io::Errno;

use crate::exit;
use crate::shared::Shared;

pub use mailbox::Mailbox;

/// What a thread does until its mailbox tells it to stop, or what the kernel says that does not let it wait.
pub type Body = Box<dyn FnOnce() -> Result<(), Errno> + Send>;

/// The thread of one tier, which takes commands `C`. A static: a forked child has none until it opens a port itself.
pub struct Background<C: Send + 'static> {
    name: &'static str,
    prepare: fn(&Arc<Mailbox<C>>) -> io::Result<Body>,
    farewell: fn(i32),
    running: PerProcess<Mutex<Option<Running<C>>>>,
}

struct Running<C> {
    mailbox: Arc<Mailbox<C>>,
    thread: JoinHandle<()>,
}

impl<C: Send + 'static> Background<C> {
    /// A thread of this name, which does what `prepare` makes. `farewell` is called with the status when the process exits;
    /// it may [ask](Self::ask_within) the thread for last words.
    pub const fn new(
        name: &'static str,
        prepare: fn(&Arc<Mailbox<C>>) -> io::Result<Body>,
        farewell: fn(i32),
    ) -> Self {
        Self {
            name,
            prepare,
            farewell,
            running: PerProcess::new(Mutex::default),
        }
    }

    fn running(&'static self) -> MutexGuard<'static, Option<Running<C>>> {
        let running = self.running.get().lock();
        running.unwrap_or_else(PoisonError::into_inner)
    }

    /// One more port that the thread works for, until it [leaves](Self::leave); the first starts the thread.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn join(&'static self, port: &Arc<Shared>) -> io::Result<Arc<Mailbox<C>>> {
        exit::at_exit(self.farewell);
        let mut running = self.running();
        // One that has died does nothing for anybody: its ports know, and another begins.
        drop(running.take_if(|running| running.mailbox.has_ended()));
        let current = match running.take() {
            Some(current) => current,
            None => self.start()?,
        };
        let mailbox = Arc::clone(&current.mailbox);
        mailbox.enroll(port);
        *running = Some(current);
        Ok(mailbox)
    }

    fn start(&self) -> io::Result<Running<C>> {
        let mailbox = Mailbox::new(self.name)?;
        let body = (self.prepare)(&mailbox)?;
        let thread = mailbox.spawn(body)?;
        Ok(Running { mailbox, thread })
    }

    /// One port fewer, of which the thread touches nothing any more; the last ends it.
    pub fn leave(&'static self, mailbox: &Arc<Mailbox<C>>, port: &Arc<Shared>) {
        let mut running = self.running();
        let is_last = mailbox.dismiss(port);
        let is_its = |running: &mut Running<C>| Arc::ptr_eq(&running.mailbox, mailbox);
        let ended = running.take_if(|running| is_its(running) && is_last);
        drop(running);
        if let Some(Running { mailbox, thread }) = ended {
            mailbox.stop();
            let _ = thread.join();
        }
    }

    /// Asks the thread for something, if there is one, and waits so long for its answer. For a process that exits: nothing is
    /// waited for that a thread may hold which the exit has stopped for ever.
    pub fn ask_within(
        &'static self,
        patience: Duration,
        command: impl FnOnce(SyncSender<()>) -> C,
    ) {
        let Ok(running) = self.running.get().try_lock() else {
            return;
        };
        let mailbox = running.as_ref().map(|running| Arc::clone(&running.mailbox));
        drop(running);
        if let Some(mailbox) = mailbox {
            let (done, wait) = sync_channel(1);
            mailbox.send(command(done));
            let _ = wait.recv_timeout(patience);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use bcl_os::sync::{AtomicU32, Ordering};

    use super::*;
    use crate::shared::tests::port;

    #[derive(Debug)]
    enum Command {
        Answer(SyncSender<()>),
        Die,
    }

    static STARTED: AtomicU32 = AtomicU32::new(0);
    static THREAD: Background<Command> = Background::new("bcl-test", prepare, |_| {});

    fn prepare(mailbox: &Arc<Mailbox<Command>>) -> io::Result<Body> {
        STARTED.fetch_add(1, Ordering::Relaxed);
        let mailbox = Arc::clone(mailbox);
        Ok(Box::new(move || {
            loop {
                let _ = bcl_os::ready::wait_for([mailbox.as_ref().as_fd()], None);
                let Some(commands) = mailbox.take() else {
                    return Ok(());
                };
                for command in commands {
                    match command {
                        Command::Answer(done) => drop(done.send(())),
                        Command::Die => return Err(Errno::PERM),
                    }
                }
            }
        }))
    }

    #[test]
    fn the_first_port_starts_the_thread_the_last_ends_it_and_another_follows_one_that_died() {
        let [one, two, three] = [port(), port(), port()];
        let mailbox = THREAD.join(&one).unwrap();
        assert!(Arc::ptr_eq(&mailbox, &THREAD.join(&two).unwrap()));
        assert_eq!(STARTED.load(Ordering::Relaxed), 1);
        mailbox.ask(Command::Answer);
        THREAD.leave(&mailbox, &one);
        assert!(!mailbox.has_ended(), "it works for the other");
        THREAD.leave(&mailbox, &two);
        assert!(mailbox.has_ended());

        let mailbox = THREAD.join(&one).unwrap();
        mailbox.send(Command::Die);
        // Nobody answers, and nobody waits.
        mailbox.ask(Command::Answer);
        while one.failure().is_none() {
            std::thread::yield_now();
        }
        let next = THREAD.join(&three).unwrap();
        assert!(!Arc::ptr_eq(&mailbox, &next));
        assert_eq!(STARTED.load(Ordering::Relaxed), 3);
        THREAD.leave(&mailbox, &one);
        next.ask(Command::Answer);
        assert_eq!(three.failure(), None);
        THREAD.leave(&next, &three);
        assert!(next.has_ended());
        THREAD.ask_within(Duration::ZERO, |_| panic!("there is nobody to ask"));
    }
}
