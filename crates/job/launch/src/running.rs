//! A job that runs.

use std::ffi::OsString;

use bcl::Folder;

use crate::error::Result;
use crate::handle::Handle;
use crate::notice::Outcome;
use crate::supervise::Supervisor;

/// A job that has been started. It runs as long as this is there: [`wait`](Self::wait) for its end; dropping it kills what
/// is left of it.
///
/// It stays with the thread that started it, and that thread has to live as long: with it the kernel ends the processes.
#[must_use = "dropping it ends the job"]
pub struct Running {
    supervisor: Supervisor,
    /// After the processes have ended.
    _sweep: Sweep,
}

/// Where the processes' ports are, if on this host.
pub(crate) struct Sweep(pub(crate) Option<Folder>);

impl Running {
    /// Has the job's first processes started at these sites.
    pub(crate) fn begin(
        mut supervisor: Supervisor,
        homes: &[usize],
        command: &[OsString],
        sweep: Sweep,
    ) -> Result<Self> {
        supervisor.begin(homes, command)?;
        Ok(Self {
            supervisor,
            _sweep: sweep,
        })
    }

    /// For other threads, to start more processes in this job, or signal all.
    pub fn handle(&self) -> Handle {
        self.supervisor.handle()
    }

    /// Looks after the job until its last process has ended: exchanges, output, signals. If one fails, the others get
    /// SIGTERM, and SIGKILL two seconds later.
    ///
    /// # Errors
    /// Where the job cannot be looked after any longer; what is left of it is killed then.
    pub fn wait(mut self) -> Result<Outcome> {
        self.supervisor.run()
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            // What was killed could not take its names with it. That some may stay is no reason to fail.
            let _ = folder.sweep();
        }
    }
}
