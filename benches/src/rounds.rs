//! Rounds: everyone in turn, again and again, so that a slow minute of the machine hits all alike.

use crate::results::{Figures, Results};
use crate::stand::Stand;
use crate::work::Work;

/// Measures `works` in `rounds` rounds; says on standard error what it is at.
pub fn run(stand: &Stand, works: &[&'static Work], rounds: usize) -> Results {
    let mut results = Results::new(works);
    for round in 1..=rounds {
        for figures in &mut results.figures {
            let Figures { work, subject, .. } = *figures;
            match stand.measure(subject, work) {
                Ok(value) => {
                    eprintln!(
                        "{round}/{rounds} {:<18} {subject:<22} {value:>10.3} {}",
                        work.name, work.unit
                    );
                    figures.runs.push(value);
                }
                Err(reason) => {
                    eprintln!("{round}/{rounds} {:<18} {subject:<22} {reason}", work.name);
                    figures.failure = Some(reason);
                }
            }
        }
    }
    results
}
