//! The limit of a single copy: a bare loop around `process_vm_readv`, with nobody to tell of it.
//!
//! The reader starts the source, so that the kernel lets it read there whatever ptrace_scope says.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::process::Pid;

use crate::command;
use crate::cores::{Cores, Place};
use crate::effort::LIMIT;
use crate::error::{Error, Result, system};
use crate::payload;

/// MB/s of reading the same `size_bytes` of another process again and again: two processes of this
/// program, each on its core.
///
/// # Errors
/// When the kernel forbids it or a process cannot start.
pub fn measure_mb_per_s(cores: Cores, size_bytes: usize, iterations: usize) -> Result<f64> {
    let mut reader = this_program(cores.of_rank(0))?;
    reader.args(["vm-reader", &size_bytes.to_string()]);
    reader.args([&iterations.to_string(), &cores.second.to_string()]);
    let output = command::run(&mut reader, "util-linux", LIMIT)?;
    command::figure(&reader, &output)
}

/// The reading process: prints its figure.
///
/// # Errors
/// When it cannot read what the source holds.
pub fn read(size_bytes: usize, iterations: usize, source_core: usize) -> Result<()> {
    let mut source = Source::start(size_bytes, source_core)?;
    let address = source.address()?;
    let mut buffer = vec![0u8; size_bytes];
    for _ in 0..iterations / 10 + 1 {
        source.read(address, &mut buffer)?;
    }
    payload::check(&buffer)?;
    let begin = Instant::now();
    for _ in 0..iterations {
        source.read(address, &mut buffer)?;
    }
    let elapsed = begin.elapsed();
    println!(
        "{}",
        (size_bytes * iterations) as f64 / 1e6 / elapsed.as_secs_f64()
    );
    Ok(())
}

/// The process that is read: says where its bytes lie and waits until the reader lets go.
///
/// # Errors
/// When its reader is gone too early.
pub fn serve(size_bytes: usize) -> Result<()> {
    let bytes = payload::make(size_bytes);
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", bytes.as_ptr().addr()).map_err(system("tell", "the reader"))?;
    io::stdin()
        .read_to_end(&mut Vec::new())
        .map_err(system("wait for", "the reader"))?;
    Ok(())
}

struct Source(Child);

impl Source {
    fn start(size_bytes: usize, core: usize) -> Result<Self> {
        let mut command = this_program(Place::Core(core))?;
        command.args(["vm-source", &size_bytes.to_string()]);
        let child = command::start(command.stdin(Stdio::piped()), "util-linux")?;
        Ok(Self(child))
    }

    fn address(&mut self) -> Result<usize> {
        let mut line = String::new();
        if let Some(stdout) = &mut self.0.stdout {
            BufReader::new(stdout)
                .read_line(&mut line)
                .map_err(system("read the address of", "the source"))?;
        }
        line.trim().parse().map_err(|_| Error::Unreadable {
            command: "vm-source".into(),
            output: line,
        })
    }

    fn read(&self, address: usize, buffer: &mut [u8]) -> Result<()> {
        let local = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let remote = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(address),
            iov_len: buffer.len(),
        };
        let process = Pid::from_child(&self.0).as_raw_nonzero().get();
        // SAFETY: `local` covers exactly `buffer`, which is borrowed mutably for the call; the kernel
        // checks `remote` against the other process.
        let len = unsafe { libc::process_vm_readv(process, &local, 1, &remote, 1, 0) };
        if usize::try_from(len).is_ok_and(|len| len == buffer.len()) {
            return Ok(());
        }
        Err(system("read the memory of process", process)(
            io::Error::last_os_error(),
        ))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // The end of its standard input ends it.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn this_program(place: Place) -> Result<Command> {
    let program = std::env::current_exe().map_err(system("find", "this program"))?;
    Ok(place.command(program))
}
