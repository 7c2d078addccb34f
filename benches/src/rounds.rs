//! Rounds: everyone in turn, again and again, so that a slow minute of the machine hits all alike.

use crate::error::Result;
use crate::figure;
use crate::placement::{are_alike, look_us};
use crate::results::Results;
use crate::stand::{Outcome, Stand};
use crate::subject::Subject;
use crate::work::Work;

/// How often a subject is measured at most until the cores have stayed where they were.
const TRIES: usize = 3;

/// Measures `works` in `rounds` rounds; says on standard error what it is at.
///
/// # Errors
/// When a thread cannot be pinned to a core.
pub fn run(stand: &Stand, works: &[&'static Work], rounds: usize) -> Result<Results> {
    let mut results = Results::new(works);
    for round in 1..=rounds {
        for work in works {
            for subject in work.subjects {
                let (outcome, line_us) = measure(stand, *subject, work)?;
                let what = format!("{round}/{rounds} {:<18} {subject:<22}", work.name);
                match &outcome {
                    Ok(values) => say(&what, work, values, line_us),
                    Err(reason) => eprintln!("{what} {reason}"),
                }
                results.record(work, *subject, &outcome, line_us);
            }
        }
    }
    Ok(results)
}

/// Measures while the cores stay where they are, if they do; and how long a cache line took from one to the other.
fn measure(stand: &Stand, subject: Subject, work: &'static Work) -> Result<(Outcome, f64)> {
    let mut before_us = look_us(stand.cores)?;
    for _ in 1..TRIES {
        let outcome = stand.measure(subject, work);
        let after_us = look_us(stand.cores)?;
        if are_alike(before_us, after_us) {
            return Ok((outcome, after_us));
        }
        before_us = after_us;
    }
    Ok((stand.measure(subject, work), before_us))
}

fn say(what: &str, work: &Work, values: &[f64], line_us: f64) {
    for (size, value) in work.kind.sizes().into_iter().zip(values) {
        let size = size.map_or(String::new(), |size| format!(", {}", figure::size(size)));
        let unit = work.unit;
        eprintln!("{what} {value:>10.3} {unit}{size} (cache line {line_us:.3} us)");
    }
}
