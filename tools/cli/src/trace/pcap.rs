//! Capture files: pcap and pcapng are read, pcap is written. A file is anybody's bytes: nothing here panics.

use std::io::{self, Read, Write};
use std::time::Duration;

use super::frame::Link;

/// No frame and no block of a real capture is longer.
const MAX_LEN: u32 = 1 << 20;

const NANOSECONDS: u32 = 0xa1b2_3c4d;
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

/// A frame of a capture.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    /// Since 1970.
    pub time: Duration,
    pub link: Link,
    pub bytes: Vec<u8>,
}

/// Why a file cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum PcapError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is no pcap or pcapng file")]
    Foreign,
    #[error(
        "its link type {0} is not known here: Ethernet, raw IP, loopback and Linux' cooked capture are"
    )]
    Link(u32),
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
}

/// Reads a capture frame by frame.
pub struct Reader<R> {
    input: R,
    is_big_endian: bool,
    form: Form,
}

enum Form {
    /// One link for all, and the parts into which a second is divided.
    Pcap { link: Link, per_second: u64 },
    /// The same for each interface of the section.
    PcapNg(Vec<(u32, u64)>),
}

impl<R: Read> Reader<R> {
    /// Looks at the beginning of a file.
    pub fn new(mut input: R) -> Result<Self, PcapError> {
        let magic = word(&mut input)?.ok_or(PcapError::Foreign)?;
        let is_big_endian = matches!(magic.swap_bytes(), NANOSECONDS | MICROSECONDS);
        let mut reader = Self {
            input,
            is_big_endian,
            form: Form::PcapNg(Vec::new()),
        };
        let per_second = match if is_big_endian {
            magic.swap_bytes()
        } else {
            magic
        } {
            NANOSECONDS => 1_000_000_000,
            MICROSECONDS => 1_000_000,
            SECTION => {
                reader.section()?;
                return Ok(reader);
            }
            _ => return Err(PcapError::Foreign),
        };
        let head = reader.take(20)?;
        let number = reader.u32(&head, 16)? & 0x0fff_ffff;
        let link = Link::from_number(number).ok_or(PcapError::Link(number))?;
        reader.form = Form::Pcap { link, per_second };
        Ok(reader)
    }

    /// The next frame; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Frame>, PcapError> {
        loop {
            let Some(first) = word(&mut self.input)? else {
                return Ok(None);
            };
            let first = if self.is_big_endian {
                first.swap_bytes()
            } else {
                first
            };
            match self.form {
                Form::Pcap { link, per_second } => {
                    return self.record(first, link, per_second).map(Some);
                }
                Form::PcapNg(_) if first == SECTION => self.section()?,
                Form::PcapNg(_) => {
                    if let Some(frame) = self.block(first)? {
                        return Ok(Some(frame));
                    }
                }
            }
        }
    }

    fn record(&mut self, seconds: u32, link: Link, per_second: u64) -> Result<Frame, PcapError> {
        let head = self.take(12)?;
        let units = u64::from(seconds) * per_second + u64::from(self.u32(&head, 0)?);
        let len = self.u32(&head, 4)?;
        Ok(Frame {
            time: time(units, per_second),
            link,
            bytes: self.take(len)?,
        })
    }

    /// A section of pcapng, whose type has been read.
    fn section(&mut self) -> Result<(), PcapError> {
        let head = self.take(8)?;
        self.is_big_endian = false;
        self.is_big_endian = match self.u32(&head, 4)? {
            BYTE_ORDER => false,
            order if order.swap_bytes() == BYTE_ORDER => true,
            _ => return Err(PcapError::Damaged("a section without byte order")),
        };
        let len = self.u32(&head, 0)?;
        self.take(rest_of_block(len, 12)?)?;
        self.form = Form::PcapNg(Vec::new());
        Ok(())
    }

    /// Any other block of pcapng; a frame if it holds one.
    fn block(&mut self, kind: u32) -> Result<Option<Frame>, PcapError> {
        let len = self.take(4)?;
        let len = self.u32(&len, 0)?;
        let body = self.take(rest_of_block(len, 8)?)?;
        match kind {
            1 => self.interface(&body)?,
            6 => return self.packet(&body).map(Some),
            _ => {}
        }
        Ok(None)
    }

    fn interface(&mut self, body: &[u8]) -> Result<(), PcapError> {
        let link = self.u16(body, 0)?;
        let mut per_second = 1_000_000;
        let mut at = 8;
        while let (Ok(option), Ok(len)) = (self.u16(body, at), self.u16(body, at + 2)) {
            if option == 9 {
                per_second = resolution(*body.get(at + 4).unwrap_or(&6));
            }
            at += 4 + usize::from(len).next_multiple_of(4);
        }
        if let Form::PcapNg(interfaces) = &mut self.form {
            interfaces.push((u32::from(link), per_second));
        }
        Ok(())
    }

    fn packet(&mut self, body: &[u8]) -> Result<Frame, PcapError> {
        let interface = self.u32(body, 0)? as usize;
        let Form::PcapNg(interfaces) = &self.form else {
            return Err(PcapError::Damaged("a block outside pcapng"));
        };
        let &(number, per_second) = interfaces
            .get(interface)
            .ok_or(PcapError::Damaged("a frame of no interface"))?;
        let units = u64::from(self.u32(body, 4)?) << 32 | u64::from(self.u32(body, 8)?);
        let len = self.u32(body, 12)? as usize;
        Ok(Frame {
            time: time(units, per_second),
            link: Link::from_number(number).ok_or(PcapError::Link(number))?,
            bytes: body
                .get(20..)
                .and_then(|bytes| bytes.get(..len))
                .ok_or(PcapError::Damaged("a frame longer than its block"))?
                .to_vec(),
        })
    }

    fn take(&mut self, len: u32) -> Result<Vec<u8>, PcapError> {
        if len > MAX_LEN {
            return Err(PcapError::Damaged("a length that no frame has"));
        }
        let mut bytes = vec![0; len as usize];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn u32(&self, bytes: &[u8], at: usize) -> Result<u32, PcapError> {
        let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
        let word = word.ok_or(PcapError::Damaged("a block that is too short"))?;
        Ok(if self.is_big_endian {
            u32::from_be_bytes(*word)
        } else {
            u32::from_le_bytes(*word)
        })
    }

    fn u16(&self, bytes: &[u8], at: usize) -> Result<u16, PcapError> {
        let half = bytes.get(at..).and_then(<[u8]>::first_chunk);
        let half = half.ok_or(PcapError::Damaged("a block that is too short"))?;
        Ok(if self.is_big_endian {
            u16::from_be_bytes(*half)
        } else {
            u16::from_le_bytes(*half)
        })
    }
}

/// The first word of what follows, as a little-endian number; `None` if the file ends here.
fn word(input: &mut impl Read) -> Result<Option<u32>, PcapError> {
    let mut bytes = [0; 4];
    let mut got = 0;
    while got < 4 {
        match input.read(&mut bytes[got..]) {
            Ok(0) if got == 0 => return Ok(None),
            Ok(0) => return Err(PcapError::Damaged("it ends within a frame")),
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(u32::from_le_bytes(bytes)))
}

/// What is left of a block of this length, its closing length included, when so much has been read.
fn rest_of_block(len: u32, read: u32) -> Result<u32, PcapError> {
    len.checked_sub(read)
        .filter(|rest| *rest >= 4)
        .ok_or(PcapError::Damaged("a block that is too short"))
}

/// The parts of a second that pcapng's `if_tsresol` means, a power of 10 or of 2.
fn resolution(option: u8) -> u64 {
    let power = u32::from(option & 0x7f);
    let base: u64 = if option & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(power).unwrap_or(u64::MAX)
}

fn time(units: u64, per_second: u64) -> Duration {
    let fraction = u128::from(units % per_second) * 1_000_000_000 / u128::from(per_second);
    Duration::new(units / per_second, fraction as u32)
}

/// Writes IP packets as a pcap file.
pub struct Writer<W>(W);

impl<W: Write> Writer<W> {
    /// Writes what a file begins with.
    pub fn new(mut output: W) -> io::Result<Self> {
        let version = 2u32 | 4 << 16;
        for word in [NANOSECONDS, version, 0, 0, MAX_LEN, Link::IP] {
            output.write_all(&word.to_le_bytes())?;
        }
        output.flush()?;
        Ok(Self(output))
    }

    /// Adds an IP packet, so that whoever reads along sees it.
    pub fn add(&mut self, time: Duration, packet: &[u8]) -> io::Result<()> {
        let len = packet.len() as u32;
        for word in [time.as_secs() as u32, time.subsec_nanos(), len, len] {
            self.0.write_all(&word.to_le_bytes())?;
        }
        self.0.write_all(packet)?;
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(file: &[u8]) -> Result<Vec<Frame>, PcapError> {
        let mut reader = Reader::new(file)?;
        std::iter::from_fn(|| reader.next().transpose()).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file).unwrap();
        let times = [
            Duration::new(1, 2),
            Duration::new(3_000_000_000, 999_999_999),
        ];
        for time in times {
            writer.add(time, b"packet").unwrap();
        }
        let found = frames(&file).unwrap();
        assert_eq!(found.len(), 2);
        for (frame, time) in found.iter().zip(times) {
            assert_eq!((frame.time, frame.link), (time, Link::Ip));
            assert_eq!(frame.bytes, b"packet");
        }
        assert!(matches!(
            frames(&file[..file.len() - 1]),
            Err(PcapError::Io(_))
        ));
    }

    /// A section, an interface that counts milliseconds, an unknown block, and a frame.
    fn pcapng(order: fn(u32) -> [u8; 4], half: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let block = |kind: u32, body: &[u8]| {
            let len = order(12 + body.len() as u32);
            [&order(kind)[..], &len, body, &len].concat()
        };
        let section = [&order(BYTE_ORDER)[..], &[0; 12]].concat();
        let option = [&half(9)[..], &half(1), &[3, 0, 0, 0], &[0; 4]].concat();
        let interface = [&half(1)[..], &[0; 6], &option].concat();
        let frame = [order(0), order(0), order(5_250), order(5), order(5)].concat();
        let frame = [&frame[..], b"frame\0\0\0"].concat();
        [
            block(SECTION, &section),
            block(1, &interface),
            block(77, b"what"),
            block(6, &frame),
        ]
        .concat()
    }

    #[test]
    fn pcapng_of_both_byte_orders_is_read() {
        for file in [
            pcapng(u32::to_le_bytes, u16::to_le_bytes),
            pcapng(u32::to_be_bytes, u16::to_be_bytes),
        ] {
            let expected = Frame {
                time: Duration::from_millis(5_250),
                link: Link::Ethernet,
                bytes: b"frame".to_vec(),
            };
            assert_eq!(frames(&file).unwrap(), [expected]);
        }
    }

    #[test]
    fn other_files_are_refused() {
        for file in [&b""[..], b"BC", b"text that is long enough for a header"] {
            assert!(frames(file).is_err());
        }
    }
}
