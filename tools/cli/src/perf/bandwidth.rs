//! Bytes and messages a second in one direction: the same runs, of long messages or of short ones.

use super::arguments::{Options, Pair};
use super::endpoint::Endpoint;
use super::plan::Plan;
use super::report::{Report, Row};
use super::stream::{Receiver, Sender};
use super::traffic::{Need, channel, with_traffic};
use crate::failure::Result;

const LONG: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 1 << 20, 4 << 20];
const SHORT: [usize; 3] = [8, 64, 1 << 10];

/// Measures all sizes.
pub fn measure(bench: &Pair, end: &mut Endpoint, report: &mut Report) -> Result<()> {
    let options = bench.options();
    for size in sizes(bench) {
        let plan = plan(bench, size);
        let need = Need {
            size,
            sends: in_flight(size),
            posts: 0,
        };
        let seconds = with_traffic(options, need, end, Sender(plan))?;
        let messages = plan.iterations() as f64;
        report.add(Row {
            size_bytes: size,
            iterations: plan.iterations(),
            channel: Some(channel(options, size)),
            mb_per_s: Some(messages * size as f64 / 1e6 / seconds),
            messages_per_s: Some(messages / seconds),
            ..Row::default()
        })?;
    }
    Ok(())
}

/// The partner's part.
pub fn assist(bench: &Pair, end: &mut Endpoint) -> Result<()> {
    for size in sizes(bench) {
        let need = Need {
            size,
            sends: 0,
            posts: in_flight(size),
        };
        with_traffic(bench.options(), need, end, Receiver(plan(bench, size)))?;
    }
    Ok(())
}

fn sizes(bench: &Pair) -> Vec<usize> {
    let default: &[usize] = match bench {
        Pair::Rate(_) => &SHORT,
        _ => &LONG,
    };
    super::sizes(bench.options(), default)
}

/// A stream is several times as fast as a ping-pong, so it takes more messages to see it.
fn plan(bench: &Pair, size: usize) -> Plan {
    const FASTER: u64 = 5;
    let options: &Options = bench.options();
    let mut plan = Plan::new(options, size);
    if options.iterations.is_none() {
        plan.batches *= FASTER;
    }
    plan
}

/// Messages under way: enough to hide the way to the partner, few enough that long ones stay in the caches.
fn in_flight(size: usize) -> usize {
    const BYTES: usize = 1 << 20;
    (BYTES / size.max(1)).clamp(4, 64)
}
