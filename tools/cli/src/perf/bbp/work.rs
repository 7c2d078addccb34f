//! What the members do together. All follow the same plan; member 0 looks at the clock, which all processes of a machine have in common.

use std::time::Duration;

use bcl_bbp::Billboard;
use rustix::time::{ClockId, clock_gettime};

use super::arguments::Arguments;
use super::crew::Crew;
use super::report::{Report, Row, What};
use super::taps::{self, Taps};
use crate::failure::{Failure, Result};
use crate::perf::statistics::Summary;

/// Longer than anybody needs to come, or to do anything.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(30));
/// Barriers between two looks at the clock.
const BARRIERS: u32 = 20;
/// A part of the iterations goes before those that count.
const WARMUP: u32 = 10;

/// Ways to bring something from member 0 to others.
const WAYS: &[What] = &[What::Message, What::Multicast, What::Tree];
/// Ways for members to wait for each other.
const BARRIER_WAYS: &[What] = &[What::Barrier, What::BarrierByMessages];

/// Measures everything.
pub fn measure(arguments: &Arguments, crew: &Crew, report: &mut Report) -> Result<()> {
    let mut end = End::new(arguments, &crew.board);
    for &size_bytes in arguments.sizes() {
        for what in arguments.wanted(WAYS) {
            let samples = end.bring(what, size_bytes, None)?;
            // By itself: who listens at interfaces is in the way.
            let delivered_us = match crew.hosts.as_ref().filter(|_| is_heard_in_kernels(what)) {
                Some(hosts) => {
                    let mut taps = Taps::open(hosts)?;
                    end.bring(what, size_bytes, Some(&mut taps))?.delivered_us
                }
                None => Vec::new(),
            };
            report.add(&Row {
                what,
                size_bytes,
                members: end.readers(what) + 1,
                until_all_us: Summary::of(samples.until_all_us),
                delivered_us: Summary::of(delivered_us),
                post_us: Summary::of(samples.post_us),
            })?;
        }
    }
    for members in 2..=end.members {
        for what in arguments.wanted(BARRIER_WAYS) {
            let samples = end.time_barriers(what, members)?;
            report.add(&Row {
                what,
                size_bytes: 0,
                members,
                until_all_us: Summary::of(samples),
                delivered_us: None,
                post_us: None,
            })?;
        }
    }
    Ok(())
}

/// What the others do meanwhile.
pub fn assist(arguments: &Arguments, board: &Billboard) -> Result<()> {
    let mut end = End::new(arguments, board);
    for &size_bytes in arguments.sizes() {
        for what in arguments.wanted(WAYS) {
            end.take_part(what, size_bytes)?;
            if arguments.hosts.is_some() && is_heard_in_kernels(what) {
                end.take_part(what, size_bytes)?;
            }
        }
    }
    for members in 2..=end.members {
        for what in arguments.wanted(BARRIER_WAYS) {
            end.warm_up_and_run(|end| end.barriers(what, members))?;
        }
    }
    end.done(board.wait_until_read(PATIENCE)).map(drop)
}

/// What goes from hand to hand takes processes.
fn is_heard_in_kernels(what: What) -> bool {
    what != What::Tree
}

#[derive(Default)]
struct Samples {
    /// From the post until the last has it,
    until_all_us: Vec<f64>,
    /// or its kernel has it, if that is listened to.
    delivered_us: Vec<f64>,
    /// What posting takes.
    post_us: Vec<f64>,
}

/// A member.
struct End<'a> {
    board: &'a Billboard,
    member: u16,
    members: u16,
    iterations: u32,
    data: Vec<u8>,
    buffer: Vec<u8>,
}

impl<'a> End<'a> {
    fn new(arguments: &Arguments, board: &'a Billboard) -> Self {
        Self {
            board,
            member: board.member(),
            members: board.members(),
            iterations: arguments.iterations,
            data: Vec::new(),
            buffer: vec![0; board.message_max_bytes()],
        }
    }

    /// How many of the others something is for.
    fn readers(&self, what: What) -> u16 {
        match what {
            What::Message => 1,
            _ => self.members - 1,
        }
    }

    fn bring(
        &mut self,
        what: What,
        size_bytes: usize,
        mut taps: Option<&mut Taps>,
    ) -> Result<Samples> {
        let mut samples = Samples::default();
        self.data = vec![what as u8; size_bytes];
        for turn in 0..self.iterations + self.iterations / WARMUP {
            let begin_for_taps = taps::now();
            let begin = now_us();
            self.post(what)?;
            let posted = now_us();
            let mut last = begin;
            for reader in 1..=self.readers(what) {
                self.receive(reader)?;
                last = last.max(f64::from_ne_bytes(self.head()));
            }
            if turn >= self.iterations / WARMUP {
                samples.until_all_us.push(last - begin);
                samples.post_us.push(posted - begin);
            }
            if let Some(taps) = &mut taps {
                let took = taps.last_after(self.readers(what).into(), begin_for_taps)?;
                let us = took.map(|took| took.as_secs_f64() * 1e6);
                samples.delivered_us.extend(us);
            }
        }
        Ok(samples)
    }

    fn post(&self, what: What) -> Result<()> {
        match what {
            What::Message => self.send(1, &self.data),
            What::Multicast => self.done(self.board.broadcast(&self.data, PATIENCE)),
            _ => self.pass_on(),
        }
    }

    /// The other side of `bring`.
    fn take_part(&mut self, what: What, size_bytes: usize) -> Result<()> {
        if self.member > self.readers(what) {
            return Ok(());
        }
        for _ in 0..self.iterations + self.iterations / WARMUP {
            let from = match what {
                What::Tree => self.member - (1 << self.member.ilog2()),
                _ => 0,
            };
            let got = self.receive(from)?;
            let at = now_us();
            if got != size_bytes || self.buffer[..got].iter().any(|byte| *byte != what as u8) {
                return Err(Failure::new(format!(
                    "member {} got {got} bytes that were not sent",
                    self.member
                )));
            }
            if what == What::Tree {
                self.data.clear();
                self.data.extend_from_slice(&self.buffer[..got]);
                self.pass_on()?;
            }
            self.send(0, &at.to_ne_bytes())?;
        }
        Ok(())
    }

    /// To those behind this member in a binomial tree: the farthest first, for it has the most behind it.
    fn pass_on(&self) -> Result<()> {
        let first = match self.member {
            0 => 0,
            member => member.ilog2() + 1,
        };
        for shift in (first..u16::BITS - 1).rev() {
            let child = u32::from(self.member) + (1 << shift);
            if child < u32::from(self.members) {
                self.send(child as u16, &self.data)?;
            }
        }
        Ok(())
    }

    /// Mean times of some barriers each.
    fn time_barriers(&mut self, what: What, members: u16) -> Result<Vec<f64>> {
        let mut samples = Vec::new();
        self.warm_up_and_run(|end| {
            let begin = now_us();
            end.barriers(what, members)?;
            samples.push((now_us() - begin) / f64::from(BARRIERS));
            Ok(())
        })?;
        samples.drain(..samples.len().min(1));
        Ok(samples)
    }

    fn warm_up_and_run(&mut self, mut some: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        (0..1 + self.iterations.div_ceil(BARRIERS)).try_for_each(|_| some(self))
    }

    fn barriers(&mut self, what: What, members: u16) -> Result<()> {
        if self.member >= members {
            return Ok(());
        }
        for _ in 0..BARRIERS {
            match what {
                What::Barrier => self.barrier_by_multicast(members)?,
                _ => self.barrier_by_messages(members)?,
            }
        }
        Ok(())
    }

    /// As in the paper's section 4: member 0 hears from all, then tells all.
    fn barrier_by_multicast(&mut self, members: u16) -> Result<()> {
        if self.member > 0 {
            self.send(0, b"")?;
            return self.receive(0).map(drop);
        }
        for other in 1..members {
            self.receive(other)?;
        }
        let others: Vec<u16> = (1..members).collect();
        self.done(self.board.multicast(&others, b"", PATIENCE))
    }

    /// Dissemination: after each round twice as many are known to have come.
    fn barrier_by_messages(&mut self, members: u16) -> Result<()> {
        let mut apart = 1;
        while apart < members {
            self.send((self.member + apart) % members, b"")?;
            self.receive((self.member + members - apart) % members)?;
            apart *= 2;
        }
        Ok(())
    }

    fn send(&self, to: u16, data: &[u8]) -> Result<()> {
        self.done(self.board.send(to, data, PATIENCE))
    }

    /// Returns the length.
    fn receive(&mut self, from: u16) -> Result<usize> {
        let received = self.board.receive(Some(from), &mut self.buffer, PATIENCE);
        match self.done(received)? {
            Some(received) => Ok(received.len_bytes),
            None => Err(Failure::new(format!(
                "member {from} has sent nothing for {} s",
                PATIENCE.unwrap_or_default().as_secs()
            ))),
        }
    }

    /// The first bytes of what was received last.
    fn head(&self) -> [u8; 8] {
        self.buffer.first_chunk().copied().unwrap_or_default()
    }

    fn done<T>(&self, result: std::result::Result<T, bcl_bbp::Error>) -> Result<T> {
        result.map_err(|error| Failure::new(format!("member {}: {error}", self.member)))
    }
}

fn now_us() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
}
