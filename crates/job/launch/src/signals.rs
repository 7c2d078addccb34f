//! Signals to the launcher, as something to poll for, and what commands need beside that.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::{Error, Result};

/// What is passed on to the processes of the job.
const FORWARDED: [libc::c_int; 5] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// To be passed on.
    Forward(libc::c_int),
    /// From the terminal, which has sent it to the whole job already.
    FromTerminal(libc::c_int),
}

/// The signals that a job is to get from this process: SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// From now on these signals come here: they are blocked in this thread and in those that it starts. Call before any
    /// other thread starts.
    pub fn take() -> Result<Self> {
        let set = block(&heeded(&FORWARDED));
        // SAFETY: the set was filled in by `block`; the descriptor that comes is ours.
        let fd = unsafe {
            let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                let error = std::io::Error::last_os_error();
                return Err(Error::system("watch for signals", error));
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Self(fd))
    }

    /// The next signal that waits.
    pub(crate) fn next(&self) -> Option<Signal> {
        const LEN: usize = size_of::<libc::signalfd_siginfo>();
        let mut bytes = [0u8; LEN];
        let got = rustix::io::read(&self.0, &mut bytes);
        if got != Ok(LEN) {
            return None;
        }
        // SAFETY: the kernel wrote a whole structure, all of whose fields are integers.
        let info = unsafe {
            let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), info.as_mut_ptr().cast(), LEN);
            info.assume_init()
        };
        let signal = info.ssi_signo as libc::c_int;
        Some(match (signal, info.ssi_code) {
            (signal, libc::SI_KERNEL) => Signal::FromTerminal(signal),
            (signal, _) => Signal::Forward(signal),
        })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Undoes the launcher's blocking in a process that it starts: a program inherits what is blocked.
pub(crate) fn unblock() {
    let set = set_of(&FORWARDED);
    // SAFETY: the set is only read; the call is allowed between fork and exec.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut()) };
}

/// Those that whoever started us has not told us to ignore, as `nohup` does with SIGHUP.
pub fn heeded(signals: &[libc::c_int]) -> Vec<libc::c_int> {
    let is_ignored = |signal| {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: a null new action only asks; the old one is written before it is read, if the call works.
        unsafe {
            libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
                && action.assume_init().sa_sigaction == libc::SIG_IGN
        }
    };
    let all = signals.iter().copied();
    all.filter(|signal| !is_ignored(*signal)).collect()
}

/// Blocks signals in this thread, and in the threads and programs that it starts.
pub fn block(signals: &[libc::c_int]) -> libc::sigset_t {
    let set = set_of(signals);
    // SAFETY: the set is only read.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
    set
}

fn set_of(signals: &[libc::c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset fills the set in, sigaddset adds to it; both are allowed between fork and exec.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}
