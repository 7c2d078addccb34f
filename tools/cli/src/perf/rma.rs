//! One-sided operations, at the end that starts them.

use std::time::Instant;

use bcl::{Buffer, Device, Event, Which};

use super::arguments::{Operation, RmaOptions, Target, Window, word};
use super::endpoint::{Endpoint, Word};
use super::meet::Watched;
use super::normal::buffer;
use super::payload::{self, Check};
use super::plan::{CHECKED, Plan};
use super::report::{Report, Row};
use super::statistics::Summary;
use super::unexpected;
use crate::failure::{Failure, Result};

/// The partner's open channel.
pub const WINDOW: u16 = 0;
/// Length of the word that an atomic works on.
const WORD_BYTES: usize = 8;
const SIZES: [usize; 4] = [8, 4 << 10, 64 << 10, 1 << 20];

/// Measures all operations and sizes.
pub fn measure(
    rma: &RmaOptions,
    end: &mut Endpoint,
    partner: &mut Watched,
    report: &mut Report,
) -> Result<()> {
    if rma.target == Target::Stopped && end.device == Some(Device::Udp) {
        return Err(Failure::usage(
            "over udp a stopped process serves nobody: measure --target stopped with --device xdp, or in a node",
        ));
    }
    for (operation, size) in steps(rma) {
        let plan = plan(rma, size);
        end.hear(Word::Ready)?;
        let mut requester = Requester::new(rma, operation, size)?;
        requester.warm_up(end, plan)?;
        end.say(Word::Go)?;
        if rma.target == Target::Stopped {
            partner.await_stop()?;
        }
        let Measured { samples, seconds } = requester.run(end, plan)?;
        if rma.target == Target::Stopped {
            partner.resume()?;
        }
        end.say(Word::Done)?;
        let bytes = size as f64 * plan.iterations() as f64;
        report.add(Row {
            operation: Some(word(&operation)),
            size_bytes: size,
            iterations: plan.iterations(),
            window: Some(rma.window),
            target: Some(rma.target),
            outstanding: Some(rma.outstanding),
            one_way_us: Summary::of(samples),
            mb_per_s: Some(bytes / seconds / 1e6),
            ..Row::default()
        })?;
    }
    Ok(())
}

/// What is measured, in order: both ends go through it.
pub fn steps(rma: &RmaOptions) -> Vec<(Operation, usize)> {
    let sizes = super::sizes(&rma.options, &SIZES);
    let of = |operation: &Operation| match operation {
        Operation::Put | Operation::Get => sizes.clone(),
        Operation::FetchAdd | Operation::CompareSwap => vec![WORD_BYTES],
    };
    let operations = rma.operation.iter();
    operations
        .flat_map(|operation| of(operation).into_iter().map(|size| (*operation, size)))
        .collect()
}

/// Through the partner's background thread an operation takes a hundred times as long.
pub fn plan(rma: &RmaOptions, size: usize) -> Plan {
    const SLOWER: u64 = 100;
    let mut plan = Plan::new(&rma.options, size);
    if rma.window == Window::Normal && rma.options.iterations.is_none() {
        plan.batches = (plan.batches / SLOWER).max(1);
        plan.warmup /= SLOWER;
    }
    plan
}

/// Operations that the partner finds done when all rounds are over.
pub fn rounds(plan: Plan) -> u64 {
    plan.warmup + plan.iterations() + 2 * CHECKED
}

struct Requester {
    operation: Operation,
    size: usize,
    outstanding: u64,
    buffers: Vec<Buffer>,
    started: u64,
    done: u64,
}

struct Measured {
    /// Microseconds an operation, by batch.
    samples: Vec<f64>,
    /// Of all batches.
    seconds: f64,
}

impl Requester {
    fn new(rma: &RmaOptions, operation: Operation, size: usize) -> Result<Self> {
        let buffers = (0..rma.outstanding).map(|_| buffer(rma.options.buffers, size));
        Ok(Self {
            operation,
            size,
            outstanding: rma.outstanding,
            buffers: buffers.collect::<Result<_>>()?,
            started: 0,
            done: 0,
        })
    }

    /// The first operations find out how the partner's memory is reached, so that there are some.
    fn warm_up(&mut self, end: &mut Endpoint, plan: Plan) -> Result<()> {
        self.flow(end, plan.warmup, self.outstanding, Check::Ends, |_| {})?;
        self.flow(end, CHECKED, 1, Check::All, |_| {})
    }

    fn run(&mut self, end: &mut Endpoint, plan: Plan) -> Result<Measured> {
        let mut samples = Vec::with_capacity(plan.batches as usize);
        // What is under way together comes together.
        let together = plan.per_batch.max(self.outstanding);
        let (begin, first) = (Instant::now(), self.done);
        let mut batch = begin;
        self.flow(
            end,
            plan.iterations(),
            self.outstanding,
            Check::Ends,
            |requester| {
                if (requester.done - first).is_multiple_of(together) {
                    let now = Instant::now();
                    samples.push((now - batch).as_secs_f64() * 1e6 / together as f64);
                    batch = now;
                }
            },
        )?;
        let seconds = begin.elapsed().as_secs_f64();
        if samples.is_empty() {
            samples.push(seconds * 1e6 / plan.iterations() as f64);
        }
        self.flow(end, CHECKED, 1, Check::All, |_| {})?;
        Ok(Measured { samples, seconds })
    }

    /// So many operations, of which so many are under way at a time. What they brought or left is checked here, or by the
    /// partner.
    #[inline]
    fn flow(
        &mut self,
        end: &mut Endpoint,
        operations: u64,
        outstanding: u64,
        check: Check,
        mut after_each: impl FnMut(&mut Self),
    ) -> Result<()> {
        let last = self.done + operations;
        while self.done < last {
            while self.started < last && self.started < self.done + outstanding {
                self.start(end, self.started, check)?;
                self.started += 1;
            }
            match end.next(Which::Send)? {
                Event::RmaDone {
                    result: Ok(()),
                    value,
                    buffer,
                    ..
                } => self.finish(self.done, value, buffer, check)?,
                Event::RmaDone {
                    result: Err(error), ..
                } => return Err(Failure::new(format!("the operation failed: {error}"))),
                other => return Err(unexpected(&other)),
            }
            self.done += 1;
            after_each(self);
        }
        Ok(())
    }

    #[inline]
    fn start(&mut self, end: &mut Endpoint, number: u64, check: Check) -> Result<()> {
        let peer = end.peer;
        match self.operation {
            Operation::Put => {
                let mut buffer = self.buffers.pop().unwrap_or_else(|| Vec::new().into());
                payload::write(buffer.as_mut_slice(), number, check);
                end.port.put(peer, WINDOW, 0, buffer, number)?;
            }
            Operation::Get => {
                let buffer = self.buffers.pop().unwrap_or_else(|| Vec::new().into());
                end.port.get(peer, WINDOW, 0, buffer, number)?;
            }
            Operation::FetchAdd => end.port.fetch_add(peer, WINDOW, 0, 1, number)?,
            Operation::CompareSwap => {
                end.port
                    .compare_swap(peer, WINDOW, 0, number, number + 1, number)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn finish(
        &mut self,
        number: u64,
        value: u64,
        buffer: Option<Buffer>,
        check: Check,
    ) -> Result<()> {
        match self.operation {
            Operation::Put => {}
            Operation::Get => {
                let bytes = buffer.as_ref().map_or(&[][..], Buffer::as_slice);
                let check = match check {
                    // The owner fills its memory once, each byte of it.
                    Check::All => Check::All,
                    Check::Ends => return self.keep(buffer),
                };
                payload::verify(bytes, self.size, GET_NUMBER, check)?;
            }
            Operation::FetchAdd | Operation::CompareSwap if value != number => {
                return Err(Failure::new(format!(
                    "an atomic found {value} instead of {number}; this is a bug in BCL, please report it"
                )));
            }
            Operation::FetchAdd | Operation::CompareSwap => {}
        }
        self.keep(buffer)
    }

    fn keep(&mut self, buffer: Option<Buffer>) -> Result<()> {
        self.buffers.extend(buffer);
        Ok(())
    }
}

/// The number of the message that the owner writes into memory that others get.
pub const GET_NUMBER: u64 = 5;
