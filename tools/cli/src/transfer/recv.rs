//! `bcl recv`: buffers are posted ahead, so that the sender never waits for the disk if memory allows.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use bcl::{Address, Buffer, Cause, Event, OpError, Port, QUIET, Which};
use clap::Args;

use super::checksum::Checksum;
use super::progress::Progress;
use super::{CHUNK, DATA, IN_FLIGHT, RECEIVED, TRAILER, Trailer};
use crate::failure::{self, Failure, Result};

/// Receive what one `bcl send` sends, into a file or to standard output.
///
/// The address to send to is printed first: on standard output if a file is given, else on standard error. The
/// status is 0 only if everything has arrived and was written.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A well-known port number to wait at [default: one is assigned].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// The file; without it standard output.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Receives one stream to its end.
pub fn run(arguments: &Arguments) -> Result<()> {
    let sink = Sink::open(arguments)?;
    let mut options = Port::options();
    if let Some(number) = arguments.port {
        options = options.number(number);
    }
    let mut port = options.open()?;
    for number in 0..IN_FLIGHT as u64 {
        port.post(DATA, vec![0; CHUNK], number)?;
    }
    port.post(TRAILER, vec![0; Trailer::LEN], 0)?;
    sink.announce(port.address())?;
    Receiver {
        port,
        sink,
        from: None,
        early: BTreeMap::new(),
        written: 0,
        got_bytes: 0,
        checksum: Checksum::new(),
        progress: Progress::new(None),
    }
    .run()
}

/// Where the bytes go.
enum Sink {
    File(File, PathBuf),
    Stdout,
}

impl Sink {
    fn open(arguments: &Arguments) -> Result<Self> {
        let Some(path) = &arguments.file else {
            return Ok(Self::Stdout);
        };
        match File::create(path) {
            Ok(file) => Ok(Self::File(file, path.clone())),
            Err(error) => Err(Failure::system(
                format_args!("write {}", path.display()),
                error,
            )),
        }
    }

    fn announce(&self, address: Address) -> Result<()> {
        match self {
            Self::File(..) => crate::output::line(address),
            Self::Stdout => {
                eprintln!("{address}");
                Ok(())
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::File(file, path) => file
                .write_all(bytes)
                .map_err(|error| Failure::system(format_args!("write {}", path.display()), error)),
            Self::Stdout => {
                let mut stdout = std::io::stdout().lock();
                let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
                written.map_err(failure::output)
            }
        }
    }
}

struct Receiver {
    port: Port,
    sink: Sink,
    /// Who has sent the first byte; nobody else is listened to.
    from: Option<Address>,
    /// Parts that were complete before their predecessors, by the number of their post.
    early: BTreeMap<u64, Part>,
    /// Parts written.
    written: u64,
    got_bytes: u64,
    checksum: Checksum,
    progress: Progress,
}

/// A message of the stream.
struct Part {
    number: u64,
    channel: u16,
    len_bytes: usize,
    buffer: Buffer,
}

impl Part {
    fn bytes(&self) -> &[u8] {
        &self.buffer.as_slice()[..self.len_bytes]
    }
}

impl Receiver {
    fn run(mut self) -> Result<()> {
        let mut trailer = None;
        // A message meets its post in order, but a short one can be complete first; and the trailer, on a channel
        // of its own, can overtake everything.
        while trailer.is_none_or(|trailer: Trailer| self.got_bytes < trailer.len_bytes) {
            let part = self.next()?;
            if part.channel == TRAILER {
                let told = Trailer::from_bytes(part.bytes());
                trailer = Some(told.ok_or_else(|| self.nonsense())?);
                continue;
            }
            self.early.insert(part.number, part);
            while let Some(part) = self.early.remove(&self.written) {
                self.write(part)?;
            }
        }
        self.conclude(trailer)
    }

    fn write(&mut self, part: Part) -> Result<()> {
        self.checksum.add(part.bytes());
        self.sink.write(part.bytes())?;
        self.got_bytes += part.len_bytes as u64;
        self.progress.at(self.got_bytes);
        let next = self.written + IN_FLIGHT as u64;
        self.written += 1;
        Ok(self.port.post(DATA, part.buffer, next)?)
    }

    fn conclude(mut self, trailer: Option<Trailer>) -> Result<()> {
        let checksum = std::mem::replace(&mut self.checksum, Checksum::new()).finish();
        let got = Trailer {
            len_bytes: self.got_bytes,
            checksum,
        };
        if trailer != Some(got) {
            return Err(self.nonsense());
        }
        self.progress.finish(self.got_bytes);
        if let Some(from) = self.from {
            self.port.send_system(from, RECEIVED, QUIET)?;
            // The sender leaves when it has heard, which is when we may.
            while !matches!(
                self.port.wait(Which::Recv, None)?,
                Some(Event::PeerGone { peer, .. }) if peer == from
            ) {}
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Part> {
        loop {
            match self.port.wait(Which::Recv, None)? {
                Some(Event::Received {
                    cookie: number,
                    result: Ok(()),
                    from,
                    channel,
                    len_bytes,
                    buffer: Some(buffer),
                    ..
                }) => {
                    if *self.from.get_or_insert(from) != from {
                        return Err(Failure::new(format!(
                            "{from} began to send as well: one `bcl recv` takes from one sender"
                        )));
                    }
                    let len_bytes = len_bytes as usize;
                    return Ok(Part {
                        number,
                        channel,
                        len_bytes,
                        buffer,
                    });
                }
                // A post can meet a message whose sender ends before it is copied.
                Some(Event::Received {
                    result: Err(OpError::PeerGone(cause)),
                    from: peer,
                    ..
                }) => return Err(self.ended_early(peer, cause)),
                Some(Event::PeerGone { peer, cause }) if self.from == Some(peer) => {
                    return Err(self.ended_early(peer, cause));
                }
                Some(Event::Received {
                    result: Err(error),
                    from,
                    ..
                }) => {
                    return Err(Failure::new(format!("cannot receive from {from}: {error}")));
                }
                Some(Event::Message(message)) => self.port.release(message)?,
                _ => {}
            }
        }
    }

    fn ended_early(&self, peer: Address, cause: Cause) -> Failure {
        Failure::new(format!(
            "the sender {peer} ended after {} bytes, before the end: {cause}",
            self.got_bytes
        ))
    }

    fn nonsense(&self) -> Failure {
        Failure::new(format!(
            "what arrived is not what was sent ({} bytes): is the sender a `bcl send` of this version?",
            self.got_bytes
        ))
    }
}
