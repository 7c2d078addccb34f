//! `bcl trace`: the packets of an interface or a capture file, one a line.

pub mod frame;
pub mod live;
mod packets;
mod pcap;
mod show;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bcl::JobKey;
use clap::Args;

use crate::failure::{Failure, Result};
use crate::output;
use frame::Datagram;
use packets::{Checker, Verdict};
use show::Packet;

/// Show the packets between nodes, as they pass or from a capture file.
///
/// One line a packet: time (UTC), UDP addresses, kind, BCL ports, numbers, flags, length of the payload, and
/// whether its check is right. The check needs the job's key (BCL_JOB_KEY or BCL_JOB_KEY_FILE) and, for packets
/// other than those of set-up, that the set-up of their connection was seen, too. What is for ports with keys of their
/// own, as those of MPI jobs have, cannot be checked: it is of an "other job", or unknown. spec/wire.md says what the fields
/// mean. Payloads are never shown.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Interface to listen at, which takes root or CAP_NET_RAW [default: all].
    #[arg(conflicts_with = "file")]
    interface: Option<String>,
    /// Read a pcap or pcapng file instead, as tcpdump and wireshark write it.
    #[arg(long, value_name = "PCAP")]
    file: Option<PathBuf>,
    /// Write what is shown to a pcap file, too.
    #[arg(long, value_name = "PCAP")]
    write: Option<PathBuf>,
    /// Stop after so many packets.
    #[arg(long, value_name = "PACKETS")]
    count: Option<u64>,
    /// Print one JSON object a line and packet.
    #[arg(long)]
    json: bool,
}

/// Shows packets until the file or the count ends.
pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.file {
        Some(path) => read_file(path, arguments),
        None => listen(arguments),
    }
}

/// A copy is begun only once packets are seen: who waits for the file knows that none is missed from then on.
fn listen(arguments: &Arguments) -> Result<()> {
    let mut live = live::Live::open(arguments.interface.as_deref())?;
    let mut tracer = Tracer::new(arguments)?;
    while !tracer.is_done() {
        let (time, packet) = live.next()?;
        tracer.show(time, packet)?;
    }
    Ok(())
}

fn read_file(path: &Path, arguments: &Arguments) -> Result<()> {
    let failed =
        |error: pcap::PcapError| Failure::new(format!("cannot read {}: {error}", path.display()));
    let file = File::open(path).map_err(|error| failed(error.into()))?;
    let mut reader = pcap::Reader::new(BufReader::new(file)).map_err(failed)?;
    let mut tracer = Tracer::new(arguments)?;
    while !tracer.is_done() {
        let Some(frame) = reader.next().map_err(failed)? else {
            break;
        };
        if let Some(packet) = frame.link.ip(&frame.bytes) {
            tracer.show(frame.time, packet)?;
        }
    }
    Ok(())
}

struct Tracer<'a> {
    arguments: &'a Arguments,
    checker: Checker,
    copy: Option<pcap::Writer<File>>,
    shown: u64,
}

impl<'a> Tracer<'a> {
    fn new(arguments: &'a Arguments) -> Result<Self> {
        let copy = arguments.write.as_deref().map(|path| {
            File::create(path)
                .and_then(pcap::Writer::new)
                .map_err(|error| failed_to_write(path, error))
        });
        Ok(Self {
            arguments,
            checker: Checker::new(secret()?),
            copy: copy.transpose()?,
            shown: 0,
        })
    }

    fn is_done(&self) -> bool {
        self.arguments
            .count
            .is_some_and(|count| self.shown >= count)
    }

    /// Shows what is ours in an IP packet.
    fn show(&mut self, time: Duration, packet: &[u8]) -> Result<()> {
        let Some(datagram) = Datagram::of_ip(packet).filter(packets::is_ours) else {
            return Ok(());
        };
        if let (Some(copy), Some(path)) = (&mut self.copy, &self.arguments.write) {
            copy.add(time, packet)
                .map_err(|error| failed_to_write(path, error))?;
        }
        for bytes in packets::packets(datagram.payload) {
            if self.is_done() {
                break;
            }
            let parsed = bcl_wire::parse(bytes);
            let verdict = match &parsed {
                Ok((header, _)) => self.checker.verdict(header, bytes),
                Err(_) => Verdict::Unknown,
            };
            let packet = Packet {
                time,
                datagram,
                bytes,
                parsed,
                verdict,
            };
            if self.arguments.json {
                output::json(&packet.json())?;
            } else {
                output::line(packet.line())?;
            }
            self.shown += 1;
        }
        Ok(())
    }
}

fn failed_to_write(path: &Path, error: std::io::Error) -> Failure {
    Failure::system(format_args!("write {}", path.display()), error)
}

/// The secret of the job's packets, if a key was given.
fn secret() -> Result<Option<[u8; 32]>> {
    if !JobKey::is_given_in_env() {
        return Ok(None);
    }
    let key = JobKey::from_env().map_err(|error| Failure::new(error.to_string()))?;
    Ok(Some(key.packet_secret()))
}
