//! Asks the doctor of another host, and takes what comes back: answers, and what the network says.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use bcl_udp::{BindError, Buffers, Datagram, HEADER_BYTES, Report, SendError, Socket};
use bcl_wire::udp_port;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::listen::clock_ns;
use super::question::{Answer, AnswerKind, Question};
use super::system;
use crate::failure::{Failure, Result};

/// An answer, and how it came.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    pub answer: Answer,
    pub from: SocketAddr,
    pub round_trip: Duration,
    /// How far the two clocks are apart, give or take the round trip.
    pub clocks_apart: Duration,
}

/// What came of questions.
#[derive(Default)]
pub struct Outcome {
    pub answered: Vec<Answered>,
    pub reports: Vec<Report>,
    /// Why a question could not be sent.
    pub refusal: Option<SendError>,
}

/// A socket in the range that BCL uses, as a port of BCL has it.
pub struct Prober {
    socket: Socket,
    buffers: Buffers,
    next_number: u64,
}

impl Prober {
    pub fn new(source: IpAddr) -> Result<Prober> {
        let mut last = None;
        for port in udp_port::ALL.rev() {
            match Socket::bind(source, port) {
                Ok(socket) => {
                    return Ok(Prober {
                        socket,
                        buffers: Buffers::new(),
                        // So that a late answer to an earlier doctor is not taken for one to us.
                        next_number: clock_ns(),
                    });
                }
                Err(error @ BindError::InUse { .. }) => last = Some(error),
                Err(error) => return Err(Failure::new(error.to_string())),
            }
        }
        Err(Failure::new(
            last.map_or_else(String::new, |error| error.to_string()),
        ))
    }

    pub fn port(&self) -> u16 {
        self.socket.local_address().port()
    }

    /// Asks each of `to` once, and takes what comes within `patience` or until all have answered.
    pub fn ask(
        &mut self,
        to: &[SocketAddr],
        wanted: AnswerKind,
        len_bytes: usize,
        patience: Duration,
    ) -> Result<Outcome> {
        let first = self.next_number;
        let mut refusal = None;
        for address in to {
            refusal = self
                .put(*address, wanted, self.port(), len_bytes)
                .or(refusal);
        }
        let mut outcome = self.take(first, to.len(), patience)?;
        outcome.refusal = refusal;
        Ok(outcome)
    }

    /// Asks `to` to answer to `other`, which nobody there has been told of by a packet.
    pub fn ask_for(
        &mut self,
        other: &mut Prober,
        to: SocketAddr,
        patience: Duration,
    ) -> Result<Outcome> {
        let first = self.next_number;
        self.put(to, AnswerKind::CallBack, other.port(), HEADER_BYTES);
        other.take(first, 1, patience)
    }

    fn put(
        &mut self,
        to: SocketAddr,
        wanted: AnswerKind,
        reply_port: u16,
        len_bytes: usize,
    ) -> Option<SendError> {
        let question = Question {
            number: self.next_number,
            wanted,
            reply_port,
        };
        self.next_number += 1;
        let filling = vec![0; len_bytes.saturating_sub(HEADER_BYTES)];
        let datagram = Datagram {
            header: question.header(),
            payload: [&filling, &[]],
        };
        match self.socket.send(to, &[datagram]) {
            // A probe that is too large for the interface is as good as lost.
            Ok(_) | Err(SendError::TooLarge { .. } | SendError::Full { .. }) => None,
            Err(error) => Some(error),
        }
    }

    fn take(&mut self, first: u64, wanted: usize, patience: Duration) -> Result<Outcome> {
        let start = Instant::now();
        let mut outcome = Outcome::default();
        loop {
            while let Some(received) = self
                .socket
                .receive(&mut self.buffers)
                .map_err(system("receive"))?
            {
                let from = received.from();
                let answers = received.filter_map(|datagram| Answer::read(datagram));
                let ours = answers.filter(|answer| answer.number >= first);
                outcome.answered.extend(ours.map(|answer| Answered {
                    answer,
                    from,
                    round_trip: start.elapsed(),
                    clocks_apart: Duration::from_nanos(clock_ns().abs_diff(answer.clock_ns)),
                }));
            }
            outcome
                .reports
                .extend(std::iter::from_fn(|| self.socket.next_report()));
            let left = patience.saturating_sub(start.elapsed());
            if outcome.answered.len() >= wanted || left.is_zero() {
                return Ok(outcome);
            }
            let limit = Timespec::try_from(left).unwrap_or_default();
            let mut watched = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut watched, Some(&limit)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(Failure::system("wait for answers", errno)),
            }
        }
    }
}
