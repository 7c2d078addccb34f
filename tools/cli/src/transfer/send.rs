//! `bcl send`: reads ahead while messages are under way.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::path::PathBuf;

use bcl::{Address, Buffer, Event, Port, Which};
use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::checksum::Checksum;
use super::progress::Progress;
use super::{CHUNK, DATA, IN_FLIGHT, RECEIVED, TRAILER, Trailer};
use crate::failure::{Failure, Result};

/// Send a file, or standard input, to a waiting `bcl recv`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The address that `bcl recv` has printed, or NAME:PORT with a name of the nodes file.
    #[arg(value_name = "ADDRESS", value_parser = crate::peer::address)]
    to: Address,
    /// The file; without it standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Sends everything and waits until the receiver has written it.
pub fn run(arguments: &Arguments) -> Result<()> {
    let (source, total_bytes) = open(arguments)?;
    Sender {
        port: Port::open()?,
        to: arguments.to,
        free: Vec::new(),
        under_way: 0,
        sent_bytes: 0,
        checksum: Checksum::new(),
        progress: Progress::new(total_bytes),
    }
    .run(source)
}

/// The input without a buffer of its own: what was read ahead could not be waited for.
fn open(arguments: &Arguments) -> Result<(File, Option<u64>)> {
    let Some(path) = &arguments.file else {
        let stdin = std::io::stdin().as_fd().try_clone_to_owned();
        let stdin = stdin.map_err(|error| Failure::system("read standard input", error))?;
        return Ok((stdin.into(), None));
    };
    let failed = |error| Failure::system(format_args!("read {}", path.display()), error);
    let file = File::open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    let len_bytes = meta.is_file().then_some(meta.len());
    Ok((file, len_bytes))
}

struct Sender {
    port: Port,
    to: Address,
    free: Vec<Buffer>,
    under_way: usize,
    sent_bytes: u64,
    checksum: Checksum,
    progress: Progress,
}

impl Sender {
    fn run(mut self, source: File) -> Result<()> {
        loop {
            let mut chunk = self.chunk()?;
            self.fill(&source, &mut chunk)?;
            if chunk.is_empty() {
                break;
            }
            self.checksum.add(&chunk);
            self.sent_bytes += chunk.len() as u64;
            self.send(DATA, chunk)?;
        }
        let trailer = Trailer {
            len_bytes: self.sent_bytes,
            checksum: std::mem::replace(&mut self.checksum, Checksum::new()).finish(),
        };
        self.send(TRAILER, trailer.to_bytes())?;
        while self.under_way > 0 {
            self.take_event(Which::Send)?;
        }
        while !self.take_event(Which::Recv)? {}
        self.progress.finish(self.sent_bytes);
        Ok(())
    }

    fn send(&mut self, channel: u16, chunk: Vec<u8>) -> Result<()> {
        self.port.send(self.to, channel, chunk, 0)?;
        self.under_way += 1;
        Ok(())
    }

    /// An empty chunk; waits for one that has arrived if too many are under way.
    fn chunk(&mut self) -> Result<Vec<u8>> {
        while self.under_way >= IN_FLIGHT {
            self.take_event(Which::Send)?;
        }
        let mut chunk = match self.free.pop() {
            Some(buffer) => buffer.into_vec(),
            None => Vec::with_capacity(CHUNK),
        };
        chunk.clear();
        Ok(chunk)
    }

    /// Fills the chunk, unless the input ends or makes us wait: then what is there goes on its way.
    fn fill(&mut self, source: &File, chunk: &mut Vec<u8>) -> Result<()> {
        chunk.resize(CHUNK, 0);
        let mut len = 0;
        while len < CHUNK && (len == 0 || is_ready(source)?) {
            self.await_input(source)?;
            match (&*source).read(&mut chunk[len..]) {
                Ok(0) => break,
                Ok(got) => len += got,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::system("read the input", error)),
            }
        }
        chunk.truncate(len);
        Ok(())
    }

    /// Waits for the input, and meanwhile keeps the messages under way moving.
    fn await_input(&mut self, source: &File) -> Result<()> {
        loop {
            while let Some(event) = self.port.poll(Which::Any)? {
                self.take(event)?;
            }
            let port = self.port.fd()?;
            let mut fds = [
                PollFd::new(source, PollFlags::IN),
                PollFd::new(&port, PollFlags::IN),
            ];
            wait_for(&mut fds, None)?;
            if !fds[0].revents().is_empty() {
                return Ok(());
            }
        }
    }

    /// Deals with the next event; true if it is the receiver's word that everything has arrived.
    fn take_event(&mut self, which: Which) -> Result<bool> {
        match self.port.wait(which, None)? {
            Some(event) => self.take(event),
            None => Ok(false),
        }
    }

    fn take(&mut self, event: Event) -> Result<bool> {
        match event {
            Event::Sent {
                result: Ok(()),
                buffer,
                ..
            } => {
                self.under_way -= 1;
                self.free.extend(buffer);
                self.progress.at(self.sent_bytes);
            }
            Event::Sent {
                result: Err(error), ..
            } => {
                return Err(Failure::new(format!("cannot send to {}: {error}", self.to)));
            }
            Event::Message(message) => {
                let is_all = message.from() == self.to && self.port.data(&message) == RECEIVED;
                self.port.release(message)?;
                return Ok(is_all);
            }
            Event::PeerGone { peer, cause } if peer == self.to => {
                return Err(Failure::new(format!(
                    "{} ended before it had everything: {cause}",
                    self.to
                )));
            }
            _ => {}
        }
        Ok(false)
    }
}

fn is_ready(source: &File) -> Result<bool> {
    let mut fds = [PollFd::new(source, PollFlags::IN)];
    wait_for(&mut fds, Some(&Timespec::default()))?;
    Ok(!fds[0].revents().is_empty())
}

fn wait_for(fds: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> Result<()> {
    match poll(fds, timeout) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(Failure::system("wait for the input", errno)),
    }
}
