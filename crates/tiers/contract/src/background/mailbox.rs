//! How ports and the background thread of a tier reach each other, and what becomes of the ports when it dies.
//!
//! A thread that ends without having been told to, because the kernel refuses it to wait or by a defect of ours, leaves
//! nobody waiting: what was asked of it is dropped, and with it the ends that askers wait on; its ports say so in all
//! their calls, and wake who sleeps in one ([`Shared::failure`]).

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use bcl_os::{Fd, without_signals};
use rustix::event::EventfdFlags;
use rustix::io::Errno;

use crate::shared::Shared;

/// How ports reach their thread, by commands `C`.
#[derive(Debug)]
pub struct Mailbox<C> {
    thread: &'static str,
    /// `None` once the thread has ended.
    desk: Mutex<Option<Desk<C>>>,
    wake: Fd,
}

#[derive(Debug)]
struct Desk<C> {
    commands: VecDeque<C>,
    ports: Vec<Arc<Shared>>,
    is_stopped: bool,
}

impl<C: Send + 'static> Mailbox<C> {
    /// For a thread of this name, which [`spawn`](Self::spawn) starts.
    pub(super) fn new(thread: &'static str) -> Result<Arc<Self>, Errno> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wake = Fd::make(|| rustix::event::eventfd(0, flags))?;
        let desk = Desk {
            commands: VecDeque::new(),
            ports: Vec::new(),
            is_stopped: false,
        };
        Ok(Arc::new(Self {
            thread,
            desk: Mutex::new(Some(desk)),
            wake,
        }))
    }

    /// Starts the thread. Its body returns when it is told to stop, or what epoll_wait(2) says.
    pub(super) fn spawn(
        self: &Arc<Self>,
        body: impl FnOnce() -> Result<(), Errno> + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let mailbox = Arc::clone(self);
        without_signals(self.thread, move || {
            let mut ending = Ending { mailbox, why: None };
            ending.why = Some(body());
        })
    }

    /// The thread is to work for this port, which learns of its death.
    pub(super) fn enroll(&self, port: &Arc<Shared>) {
        match &mut *self.lock() {
            Some(desk) => desk.ports.push(Arc::clone(port)),
            None => port.fail(self.obituary("it had ended before the port was open")),
        }
    }

    /// ... and no longer. True if that was the last.
    pub(super) fn dismiss(&self, port: &Arc<Shared>) -> bool {
        match &mut *self.lock() {
            Some(desk) => {
                desk.ports.retain(|other| !Arc::ptr_eq(other, port));
                desk.ports.is_empty()
            }
            None => true,
        }
    }

    /// Tells the thread to end.
    pub(super) fn stop(&self) {
        if let Some(desk) = &mut *self.lock() {
            desk.is_stopped = true;
        }
        self.kick();
    }

    /// Asks the thread for something; dropped if it has ended.
    pub fn send(&self, command: C) {
        if let Some(desk) = &mut *self.lock() {
            desk.commands.push_back(command);
        }
        self.kick();
    }

    /// Asks the thread for something, and waits until it says that it is done, or has ended.
    pub fn ask(&self, command: impl FnOnce(SyncSender<()>) -> C) {
        let (done, wait) = sync_channel(1);
        self.send(command(done));
        let _ = wait.recv();
    }

    /// Has the thread look around.
    pub fn kick(&self) {
        // Refused only if it has been kicked too often already.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// For the thread: what was asked for since the last time, or `None` if it is to end.
    pub fn take(&self) -> Option<VecDeque<C>> {
        let _ = rustix::io::read(&self.wake, &mut [0u8; 8]);
        let mut desk = self.lock();
        let desk = desk.as_mut().filter(|desk| !desk.is_stopped)?;
        Some(std::mem::take(&mut desk.commands))
    }

    /// Whether nobody reads it any more.
    pub fn has_ended(&self) -> bool {
        self.lock().is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Desk<C>>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn obituary(&self, why: &str) -> String {
        format!(
            "the background thread {} of this process has ended, {why}: close the port and open a new one",
            self.thread
        )
    }
}

impl<C> AsFd for Mailbox<C> {
    /// Readable when the thread is to look.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// Dropped when the thread ends, even by a panic.
struct Ending<C: Send + 'static> {
    mailbox: Arc<Mailbox<C>>,
    /// How the body returned, if it did.
    why: Option<Result<(), Errno>>,
}

impl<C: Send + 'static> Drop for Ending<C> {
    fn drop(&mut self) {
        // The lock goes first: to drop a command may close descriptors and wake others.
        let desk = self.mailbox.lock().take();
        let why = match self.why {
            None => "by a defect of BCL itself (please report it with what stderr says)".to_owned(),
            Some(Ok(())) => "though a port was open".to_owned(),
            Some(Err(errno)) => format!("for epoll_wait failed: {errno}"),
        };
        for port in desk.iter().flat_map(|desk| &desk.ports) {
            port.fail(self.mailbox.obituary(&why));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::tests::port;

    /// What a port says whose thread has ended so, after somebody has asked the thread for something in vain.
    fn after(body: impl FnOnce() -> Result<(), Errno> + Send + 'static) -> String {
        let mailbox = Mailbox::<SyncSender<()>>::new("bcl-test").unwrap();
        let (go, gone) = sync_channel::<()>(0);
        let (port, late) = (port(), port());
        mailbox.enroll(&port);
        let (done, wait) = sync_channel(1);
        mailbox.send(done);
        let thread = mailbox.spawn(move || {
            let _ = gone.recv();
            body()
        });
        assert_eq!(port.failure(), None);
        drop(go);
        assert!(wait.recv().is_err(), "nobody answers, and nobody waits");
        let _ = thread.unwrap().join();
        assert!(mailbox.has_ended() && mailbox.take().is_none());
        let (done, wait) = sync_channel(1);
        mailbox.send(done);
        assert!(wait.recv().is_err());
        mailbox.enroll(&late);
        assert!(late.failure().unwrap().contains("before the port was open"));
        port.failure().unwrap().to_owned()
    }

    #[test]
    fn a_thread_that_dies_leaves_nobody_waiting_and_its_ports_say_why() {
        assert!(
            after(|| Err(Errno::PERM))
                .contains("bcl-test of this process has ended, for epoll_wait failed")
        );
        assert!(after(|| panic!("on purpose")).contains("by a defect of BCL itself"));
    }

    #[test]
    fn a_port_that_has_left_before_has_not_failed() {
        let mailbox = Mailbox::<()>::new("bcl-test").unwrap();
        let port = port();
        mailbox.enroll(&port);
        mailbox.dismiss(&port);
        mailbox.spawn(|| Ok(())).unwrap().join().unwrap();
        assert_eq!(port.failure(), None);
    }
}
