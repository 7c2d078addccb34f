//! What one doctor asks another: datagrams of a fixed header and as much filling as is to be tried.
//!
//! An answer is never longer than its question, so that nobody is flooded by way of a doctor.

use bcl_udp::HEADER_BYTES;
use bcl_wire::udp_port;

/// Not the first bytes of a packet of the protocol, which live ports of BCL only count as strange.
const MAGIC: [u8; 8] = *b"doctor\0\x01";

/// How many ports of the range are tried.
pub const SAMPLES: u16 = 8;

/// The first, the last, and as many between: a firewall that permits these permits all, most likely.
pub fn sample_ports() -> impl Iterator<Item = u16> {
    let (first, last) = (*udp_port::ALL.start(), *udp_port::ALL.end());
    let step = (last - first) / (SAMPLES - 1);
    (0..SAMPLES).map(move |index| first + index * step)
}

/// What is wanted of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// An answer without filling.
    Short = 1,
    /// An answer as long as the question.
    Same = 2,
    /// An answer from another port than was asked, to the port that the question names.
    CallBack = 3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Tells questions apart.
    pub number: u64,
    pub wanted: AnswerKind,
    /// Where the answer to [`AnswerKind::CallBack`] goes.
    pub reply_port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The question's.
    pub number: u64,
    /// A bit for each sample port that is answered at.
    pub ports: u8,
    /// The MTU of the other side's route to us, as its kernel knows it; 0 if it does not.
    pub mtu: u32,
    /// The other side's job, 0 if it was given no key.
    pub job: u64,
    /// The other side's clock.
    pub clock_ns: u64,
}

impl Question {
    pub fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = start(self.wanted as u8, self.number);
        header[10..12].copy_from_slice(&self.reply_port.to_le_bytes());
        header
    }

    pub fn read(datagram: &[u8]) -> Option<Question> {
        let header = datagram.first_chunk::<HEADER_BYTES>()?;
        let wanted = match header[8] {
            1 => AnswerKind::Short,
            2 => AnswerKind::Same,
            3 => AnswerKind::CallBack,
            _ => return None,
        };
        Some(Question {
            number: number(header)?,
            wanted,
            reply_port: u16::from_le_bytes([header[10], header[11]]),
        })
    }
}

/// Where a question says what is wanted.
const ANSWER: u8 = 128;

impl Answer {
    pub fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = start(ANSWER, self.number);
        header[9] = self.ports;
        header[12..16].copy_from_slice(&self.mtu.to_le_bytes());
        header[24..32].copy_from_slice(&self.job.to_le_bytes());
        header[32..40].copy_from_slice(&self.clock_ns.to_le_bytes());
        header
    }

    pub fn read(datagram: &[u8]) -> Option<Answer> {
        let header = datagram.first_chunk::<HEADER_BYTES>()?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| header[at + index]));
        (header[8] == ANSWER).then_some(())?;
        Some(Answer {
            number: number(header)?,
            ports: header[9],
            mtu: u32::from_le_bytes(std::array::from_fn(|index| header[12 + index])),
            job: word(24),
            clock_ns: word(32),
        })
    }
}

fn start(kind: u8, number: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8] = kind;
    header[16..24].copy_from_slice(&number.to_le_bytes());
    header
}

fn number(header: &[u8; HEADER_BYTES]) -> Option<u64> {
    let number = std::array::from_fn(|index| header[16 + index]);
    (header[..8] == MAGIC).then(|| u64::from_le_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let question = Question {
            number: 77,
            wanted: AnswerKind::CallBack,
            reply_port: 20_007,
        };
        let answer = Answer {
            number: 77,
            ports: 0b1010_0001,
            mtu: 1500,
            job: 5,
            clock_ns: 6,
        };
        assert_eq!(Question::read(&question.header()), Some(question));
        assert_eq!(Answer::read(&answer.header()), Some(answer));
        assert_eq!(Question::read(&answer.header()), None);
        assert_eq!(Answer::read(&question.header()), None);
        assert_eq!(Question::read(&[0; 64]), None);
        assert_eq!(Question::read(b"doctor"), None);
    }

    #[test]
    fn samples_reach_from_end_to_end() {
        let ports: Vec<u16> = sample_ports().collect();
        assert_eq!((ports[0], ports[7], ports.len()), (20_001, 28_191, 8));
    }
}
