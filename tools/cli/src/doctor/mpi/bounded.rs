//! Runs a program that may never end.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process};

use crate::spawn::die_with_this_process;

/// How long a program may take to end when it is told to.
const MERCY: Duration = Duration::from_secs(2);
/// What somebody says is looked at so far.
const MOST_BYTES: u64 = 1 << 20;

/// What a program did.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended; `None` if it had to be ended.
    pub status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs it for so long at most. Neither a reader nor a writer can keep us waiting: what it says goes to memory.
pub fn run(command: &mut Command, at_most: Duration) -> io::Result<Outcome> {
    let [stdout, stderr] = [memory()?, memory()?];
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    die_with_this_process(command);
    let mut child = command.spawn()?;
    let mut status = wait(&mut child, at_most)?;
    if status.is_none() {
        if let Some(pid) = Pid::from_raw(child.id() as i32) {
            // It is not reaped yet, so that the number is its own.
            let _ = kill_process(pid, Signal::TERM);
        }
        if wait(&mut child, MERCY)?.is_none() {
            child.kill()?;
            child.wait()?;
        }
        status = None;
    }
    Ok(Outcome {
        status,
        stdout: text(&stdout)?,
        stderr: text(&stderr)?,
    })
}

fn wait(child: &mut Child, at_most: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + at_most;
    loop {
        match child.try_wait()? {
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            end => return Ok(end),
        }
    }
}

fn memory() -> io::Result<File> {
    Ok(memfd_create("bcl-doctor", MemfdFlags::CLOEXEC)?.into())
}

/// From the beginning: its place to read from is where the program writes.
fn text(memory: &File) -> io::Result<String> {
    let mut bytes = vec![0; memory.metadata()?.len().min(MOST_BYTES) as usize];
    memory.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
