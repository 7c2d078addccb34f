//! The HPC Challenge as Debian has it. One run ends with many figures, each of which is a work of its own.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use crate::command;
use crate::error::{Error, Result};
use crate::peers::jobs::with::{Job, of_harness};

const PROGRAM: &str = "/usr/bin/hpcc";

/// The last run on each thing to run on.
#[derive(Default)]
pub struct Hpcc {
    runs: RefCell<HashMap<&'static str, Run>>,
}

/// What a run ended with, and which of it has been taken.
struct Run {
    figures: HashMap<String, f64>,
    taken: HashSet<&'static str>,
}

impl Hpcc {
    /// A figure of a run that has not been asked for it yet: in each round of all figures there is one run.
    ///
    /// # Errors
    /// When hpcc is not installed, fails, or has found a result of its own wrong.
    pub fn figure(&self, job: &Job, name: &'static str) -> Result<f64> {
        let mut runs = self.runs.borrow_mut();
        if runs
            .get(job.runs_on)
            .is_none_or(|run| run.taken.contains(name))
        {
            runs.remove(job.runs_on);
            runs.insert(job.runs_on, Run::of(job)?);
        }
        let run = runs.get_mut(job.runs_on).expect("it has just been made");
        run.taken.insert(name);
        run.figures
            .get(name)
            .copied()
            .ok_or_else(|| Error::Unreadable {
                command: PROGRAM.into(),
                output: format!("its report, in which there is no {name}"),
            })
    }
}

impl Run {
    fn of(job: &Job) -> Result<Self> {
        command::require("hpcc", "hpcc")?;
        let script = of_harness("hpcc").display().to_string();
        let output = job.several(4, &[script, PROGRAM.into()])?;
        Ok(Self {
            figures: read(&output)?,
            taken: HashSet::new(),
        })
    }
}

/// `NAME=FIGURE`, a line for each. It checks what it computes, and says `Success=1` when all of it was right.
fn read(output: &str) -> Result<HashMap<String, f64>> {
    let pairs = output.lines().filter_map(|line| {
        let (name, figure) = line.trim().split_once('=')?;
        Some((name.to_owned(), figure.parse().ok()?))
    });
    let figures: HashMap<String, f64> = pairs.collect();
    let failed_tests = output.lines().find(|line| is_failure(line));
    if figures.get("Success") == Some(&1.0) && failed_tests.is_none() {
        return Ok(figures);
    }
    Err(Error::Failed {
        command: PROGRAM.into(),
        status: "not verified".into(),
        stderr: failed_tests.unwrap_or("it did not say Success=1").into(),
    })
}

/// Tests count what they have found wrong, or name it.
fn is_failure(line: &str) -> bool {
    let (count, rest) = line.trim().split_once(' ').unwrap_or_default();
    let counts = rest.starts_with("tests completed and failed residual checks");
    (counts && count != "0") || line.contains("FAILED")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINPACK: &str = "\
Finished      1 tests with the following results:
              1 tests completed and passed residual checks,
              0 tests completed and failed residual checks,
              0 tests skipped because of illegal input values.
";
    const SUMMARY: &str = "Success=1\nPTRANS_GBs=0.865754\nLANG=C\nHPL_order=R\n";

    #[test]
    fn figures_are_read_from_the_summary() {
        let figures = read(&format!("{LINPACK}{SUMMARY}")).unwrap();
        assert_eq!(figures["PTRANS_GBs"], 0.865754);
        assert!(!figures.contains_key("LANG"));
    }

    #[test]
    fn what_was_not_verified_has_no_figures() {
        let wrong = LINPACK.replace(
            "0 tests completed and failed",
            "1 tests completed and failed",
        );
        let error = read(&format!("{wrong}{SUMMARY}")).unwrap_err().to_string();
        assert!(error.contains("1 tests completed and failed"), "{error}");
        let named = "WALL   500   500  80  80   2   2     0.00 FAILED    0.866  0.00\n";
        assert!(read(&format!("{named}{SUMMARY}")).is_err());
        assert!(read(&SUMMARY.replace("Success=1", "Success=0")).is_err());
        assert!(read("PTRANS_GBs=0.865754\n").is_err());
    }
}
