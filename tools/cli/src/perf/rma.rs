//! One-sided operations, at the end that starts them.

use std::time::Instant;

use bcl::{Buffer, Event, Which};

use super::arguments::{Operation, RmaOptions, Window, word};
use super::endpoint::{Endpoint, Word};
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
pub fn measure(rma: &RmaOptions, end: &mut Endpoint, report: &mut Report) -> Result<()> {
    for (operation, size) in steps(rma) {
        let plan = plan(rma, size);
        end.hear(Word::Ready)?;
        let samples = Requester::new(rma, operation, size)?.run(end, plan)?;
        end.say(Word::Done)?;
        let summary = Summary::of(samples);
        report.add(Row {
            operation: Some(word(&operation)),
            size_bytes: size,
            iterations: plan.iterations(),
            window: Some(rma.window),
            one_way_us: summary,
            // A byte a microsecond is a megabyte a second.
            mb_per_s: summary.map(|us| size as f64 / us.p50),
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
    plan.warmup + plan.iterations() + CHECKED
}

struct Requester {
    operation: Operation,
    size: usize,
    buffer: Option<Buffer>,
    done: u64,
}

impl Requester {
    fn new(rma: &RmaOptions, operation: Operation, size: usize) -> Result<Self> {
        Ok(Self {
            operation,
            size,
            buffer: Some(buffer(rma.options.buffers, size)?),
            done: 0,
        })
    }

    fn run(mut self, end: &mut Endpoint, plan: Plan) -> Result<Vec<f64>> {
        for _ in 0..plan.warmup {
            self.one(end, Check::Ends)?;
        }
        let mut samples = Vec::with_capacity(plan.batches as usize);
        for _ in 0..plan.batches {
            let begin = Instant::now();
            for _ in 0..plan.per_batch {
                self.one(end, Check::Ends)?;
            }
            samples.push(begin.elapsed().as_secs_f64() * 1e6 / plan.per_batch as f64);
        }
        for _ in 0..CHECKED {
            self.one(end, Check::All)?;
        }
        Ok(samples)
    }

    /// One operation and its completion. What it brought or left is checked here, or by the partner.
    #[inline]
    fn one(&mut self, end: &mut Endpoint, check: Check) -> Result<()> {
        let number = self.done;
        self.start(end, number, check)?;
        match end.next(Which::Send)? {
            Event::RmaDone {
                result: Ok(()),
                value,
                buffer,
                ..
            } => self.finish(number, value, buffer, check)?,
            Event::RmaDone {
                result: Err(error), ..
            } => return Err(Failure::new(format!("the operation failed: {error}"))),
            other => return Err(unexpected(&other)),
        }
        self.done += 1;
        Ok(())
    }

    #[inline]
    fn start(&mut self, end: &mut Endpoint, number: u64, check: Check) -> Result<()> {
        let peer = end.peer;
        match self.operation {
            Operation::Put => {
                let mut buffer = self.buffer.take().unwrap_or_else(|| Vec::new().into());
                payload::write(buffer.as_mut_slice(), number, check);
                end.port.put(peer, WINDOW, 0, buffer, number)?;
            }
            Operation::Get => {
                let buffer = self.buffer.take().unwrap_or_else(|| Vec::new().into());
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
        self.buffer = buffer;
        Ok(())
    }
}

/// The number of the message that the owner writes into memory that others get.
pub const GET_NUMBER: u64 = 5;
