//! Rounds: everyone in turn, again and again, so that a slow minute of the machine hits all alike.

use crate::figure;
use crate::results::Results;
use crate::stand::Stand;
use crate::work::Work;

/// Measures `works` in `rounds` rounds; says on standard error what it is at.
pub fn run(stand: &Stand, works: &[&'static Work], rounds: usize) -> Results {
    let mut results = Results::new(works);
    for round in 1..=rounds {
        for work in works {
            for subject in work.subjects {
                let outcome = stand.measure(*subject, work);
                let what = format!("{round}/{rounds} {:<18} {subject:<22}", work.name);
                match &outcome {
                    Ok(values) => say(&what, work, values),
                    Err(reason) => eprintln!("{what} {reason}"),
                }
                results.record(work, *subject, &outcome);
            }
        }
    }
    results
}

fn say(what: &str, work: &Work, values: &[f64]) {
    for (size, value) in work.kind.sizes().into_iter().zip(values) {
        let size = size.map_or(String::new(), |size| format!(", {}", figure::size(size)));
        eprintln!("{what} {value:>10.3} {}{size}", work.unit);
    }
}
