//! `bcl doctor --listen`: answers doctors of other hosts.

use std::net::{IpAddr, SocketAddr};
use std::time::{SystemTime, UNIX_EPOCH};

use bcl::JobKey;
use bcl_udp::{BindError, Buffers, Datagram, HEADER_BYTES, Socket};
use bcl_wire::udp_port;
use rustix::event::{PollFd, PollFlags, poll};

use super::question::{Answer, AnswerKind, Question, SAMPLES, sample_ports};
use super::system;
use crate::failure::{Failure, Result};
use crate::output;

/// One of our addresses and its sockets.
struct Place {
    ip: IpAddr,
    /// By sample port; `None` if a port of BCL has it.
    sockets: Vec<Option<Socket>>,
}

/// Answers until the process is ended.
pub fn run() -> Result<()> {
    let mut places = open()?;
    let addresses: Vec<String> = places.iter().map(|place| place.ip.to_string()).collect();
    output::line(format_args!(
        "listening at {} on {SAMPLES} of the ports {}-{}; interrupt to end",
        addresses.join(", "),
        udp_port::ALL.start(),
        udp_port::ALL.end()
    ))?;
    let job = match JobKey::from_env() {
        Ok(key) if JobKey::is_given_in_env() => super::job_id(&key),
        _ => 0,
    };
    let mut buffers = Buffers::new();
    loop {
        wait(&places)?;
        for place in &mut places {
            place.answer(job, &mut buffers)?;
        }
    }
}

/// As ports of BCL do: a socket for each address, so that answers carry the address that was asked.
fn open() -> Result<Vec<Place>> {
    let interfaces = bcl_udp::route::interfaces().map_err(system("list the interfaces"))?;
    let mut places = Vec::new();
    for (ip, _) in interfaces
        .into_iter()
        .flat_map(|interface| interface.addresses)
    {
        let is_of_one_link = matches!(ip, IpAddr::V6(v6) if v6.segments()[0] == 0xfe80);
        if is_of_one_link {
            continue;
        }
        let mut place = Place {
            ip,
            sockets: Vec::new(),
        };
        for port in sample_ports() {
            place.sockets.push(match Socket::bind(ip, port) {
                Ok(socket) => Some(socket),
                Err(BindError::InUse { .. }) => None,
                Err(error) => return Err(Failure::new(error.to_string())),
            });
        }
        places.push(place);
    }
    if places.iter().all(|place| place.ports() == 0) {
        return Err(Failure::new(
            "no address with a free port: is another `bcl doctor --listen` running?",
        ));
    }
    Ok(places)
}

fn wait(places: &[Place]) -> Result<()> {
    let sockets = places
        .iter()
        .flat_map(|place| place.sockets.iter().flatten());
    let mut watched: Vec<PollFd<'_>> = sockets
        .map(|socket| PollFd::new(socket, PollFlags::IN))
        .collect();
    match poll(&mut watched, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(Failure::system("wait for questions", errno)),
    }
}

impl Place {
    /// A bit for each port that we have.
    fn ports(&self) -> u8 {
        let bits = self.sockets.iter().enumerate();
        bits.fold(0, |ports, (index, socket)| {
            ports | u8::from(socket.is_some()) << index
        })
    }

    /// Answers one question at each port, if there is one.
    fn answer(&mut self, job: u64, buffers: &mut Buffers) -> Result<()> {
        for index in 0..self.sockets.len() {
            let Some(socket) = &mut self.sockets[index] else {
                continue;
            };
            // What the network says of our answers is for those who ask.
            while socket.next_report().is_some() {}
            let Some(received) = socket.receive(buffers).map_err(system("receive"))? else {
                continue;
            };
            let from = received.from();
            let questions: Vec<(Question, usize)> = received
                .filter_map(|datagram| Some((Question::read(datagram)?, datagram.len())))
                .collect();
            for (question, len_bytes) in questions {
                self.answer_one(index, from, question, len_bytes, job);
            }
        }
        Ok(())
    }

    fn answer_one(
        &mut self,
        index: usize,
        from: SocketAddr,
        question: Question,
        len_bytes: usize,
        job: u64,
    ) {
        let answer = Answer {
            number: question.number,
            ports: self.ports(),
            mtu: bcl_udp::mtu::kernel_mtu(self.ip, from.ip()).unwrap_or(0),
            job,
            clock_ns: clock_ns(),
        };
        let filling = vec![
            0;
            if question.wanted == AnswerKind::Same {
                len_bytes - HEADER_BYTES
            } else {
                0
            }
        ];
        let (index, to) = match question.wanted {
            AnswerKind::CallBack if udp_port::ALL.contains(&question.reply_port) => {
                let others = (index + 1..self.sockets.len()).chain(0..index);
                let other = others.clone().find(|other| self.sockets[*other].is_some());
                (
                    other.unwrap_or(index),
                    SocketAddr::new(from.ip(), question.reply_port),
                )
            }
            AnswerKind::CallBack => return,
            AnswerKind::Short | AnswerKind::Same => (index, from),
        };
        let datagram = Datagram {
            header: answer.header(),
            payload: [&filling, &[]],
        };
        if let Some(socket) = &mut self.sockets[index] {
            // An answer that cannot be sent is one that does not arrive, which is what is to be found out.
            let _ = socket.send(to, &[datagram]);
        }
    }
}

/// Nanoseconds since 1970.
pub fn clock_ns() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    now.as_nanos() as u64
}
