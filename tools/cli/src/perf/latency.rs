//! Ping-pong: a message goes, its partner sends one back.

use std::time::Instant;

use super::arguments::Options;
use super::endpoint::{Endpoint, Word};
use super::payload::Check;
use super::plan::{CHECKED, Plan};
use super::report::{Report, Row};
use super::statistics::Summary;
use super::traffic::{Need, Traffic, WithTraffic, channel, with_traffic};
use crate::failure::Result;

const SIZES: [usize; 9] = [
    8,
    64,
    512,
    1 << 10,
    4 << 10,
    16 << 10,
    64 << 10,
    1 << 20,
    4 << 20,
];

/// Measures all sizes.
pub fn measure(options: &Options, end: &mut Endpoint, report: &mut Report) -> Result<()> {
    for size in super::sizes(options, &SIZES) {
        let plan = Plan::new(options, size);
        let samples = with_traffic(options, need(size), end, Pinger(plan))?;
        report.add(Row {
            size_bytes: size,
            iterations: plan.iterations(),
            channel: Some(channel(options, size)),
            one_way_us: Summary::of(samples),
            ..Row::default()
        })?;
    }
    Ok(())
}

/// The partner's part.
pub fn assist(options: &Options, end: &mut Endpoint) -> Result<()> {
    for size in super::sizes(options, &SIZES) {
        let plan = Plan::new(options, size);
        with_traffic(options, need(size), end, Ponger(plan))?;
    }
    Ok(())
}

fn need(size: usize) -> Need {
    Need {
        size,
        sends: 1,
        posts: 1,
    }
}

struct Pinger(Plan);

impl WithTraffic for Pinger {
    /// One-way times in us, one for each batch.
    type Output = Vec<f64>;

    fn run<T: Traffic>(self, end: &mut Endpoint, mut traffic: T) -> Result<Vec<f64>> {
        let plan = self.0;
        let mut next = 0;
        let mut ping = |end: &mut Endpoint, traffic: &mut T, rounds: u64, check| -> Result<()> {
            for number in next..next + rounds {
                traffic.send(end, number, check)?;
                traffic.receive(end, number, check)?;
            }
            next += rounds;
            Ok(())
        };
        end.hear(Word::Ready)?;
        ping(end, &mut traffic, CHECKED, Check::All)?;
        ping(end, &mut traffic, plan.warmup, Check::Ends)?;
        let mut samples = Vec::with_capacity(plan.batches as usize);
        for _ in 0..plan.batches {
            let begin = Instant::now();
            ping(end, &mut traffic, plan.per_batch, Check::Ends)?;
            let ways = 2 * plan.per_batch;
            samples.push(begin.elapsed().as_secs_f64() * 1e6 / ways as f64);
        }
        ping(end, &mut traffic, CHECKED, Check::All)?;
        traffic.finish(end)?;
        Ok(samples)
    }
}

struct Ponger(Plan);

impl WithTraffic for Ponger {
    type Output = ();

    fn run<T: Traffic>(self, end: &mut Endpoint, mut traffic: T) -> Result<()> {
        let plan = self.0;
        let mut next = 0;
        end.say(Word::Ready)?;
        for (rounds, check) in [
            (CHECKED, Check::All),
            (plan.warmup + plan.iterations(), Check::Ends),
            (CHECKED, Check::All),
        ] {
            for number in next..next + rounds {
                traffic.receive(end, number, check)?;
                traffic.send(end, number, check)?;
            }
            next += rounds;
        }
        traffic.finish(end)
    }
}
