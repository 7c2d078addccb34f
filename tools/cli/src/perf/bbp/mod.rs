//! `bcl perf bbp`: what the members of a billboard get, beside what the paper says of its own.
//!
//! Read on with `arguments`; `crew`, the processes; `work`, what they do together; `taps`, when kernels had it; `report` and `figures`, what is made of it.

mod arguments;
mod crew;
mod figures;
mod report;
mod taps;
mod work;

pub use arguments::Arguments;

use crate::failure::Result;
use report::Report;

/// Measures, or is one of the others in a measurement: all follow the same plan.
pub fn run(arguments: &Arguments) -> Result<()> {
    arguments.check()?;
    if let Some(member) = arguments.member {
        let board = crew::join(arguments, member)?;
        return work::assist(arguments, &board);
    }
    let crew = crew::gather(arguments)?;
    let mut report = Report::begin(arguments)?;
    work::measure(arguments, &crew, &mut report).map_err(|failure| crew.explain(failure))?;
    drop(crew);
    report.finish(arguments)
}
