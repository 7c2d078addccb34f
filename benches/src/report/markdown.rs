//! The report: the marks first, then every figure, then what was missing.

use std::fmt::{Result, Write};

use crate::figure;
use crate::machine::Machine;
use crate::results::{Figures, Results};
use crate::stats::{median, span};
use crate::suite::Suite;
use crate::verdict::judge;
use crate::work::{Mark, Work};

/// The whole report.
pub fn render(results: &Results, machine: &Machine, suite: &Suite) -> String {
    let mut text = String::new();
    write_report(&mut text, results, machine, suite)
        .expect("a String takes all that is written to it");
    text
}

fn write_report(out: &mut String, results: &Results, machine: &Machine, suite: &Suite) -> Result {
    writeln!(out, "# {}\n", suite.title)?;
    for (name, value) in &machine.facts {
        writeln!(out, "- {name}: {value}")?;
    }
    writeln!(out, "\n{}\n", suite.method)?;
    write_marks(out, results)?;
    write_figures(out, results)?;
    write_failures(out, results)
}

fn write_marks(out: &mut String, results: &Results) -> Result {
    writeln!(out, "## Marks\n")?;
    writeln!(out, "| work | ours | mark | against | ratio | |")?;
    writeln!(out, "|---|---:|---|---|---:|---|")?;
    for work in results.works() {
        for (index, mark) in work.marks.iter().enumerate() {
            let title = if index == 0 { work.title } else { "" };
            let Some(verdict) = judge(results, work, mark) else {
                let ours = unjudged(results, work, mark);
                writeln!(out, "| {title} | {ours} | {} | | | not judged |", mark.text)?;
                continue;
            };
            let at = verdict
                .size_bytes
                .map_or(String::new(), |size| format!(" at {}", figure::size(size)));
            let ours = format!("{} {}{at}", figure::text(verdict.ours), work.unit);
            let reference = format!("{} {}", figure::text(verdict.reference), work.unit);
            let against = verdict
                .against
                .map_or(reference.clone(), |who| format!("{who} {reference}"));
            let ratio = verdict.ratio.map_or(String::new(), |r| format!("{r:.2}"));
            let outcome = if verdict.met { "pass" } else { "**miss**" };
            writeln!(
                out,
                "| {title} | {ours} | {} | {against} | {ratio} | {outcome} |",
                mark.text
            )?;
        }
    }
    writeln!(out)
}

/// What is there of ours although it could not be compared.
fn unjudged(results: &Results, work: &Work, mark: &Mark) -> String {
    let ours = results
        .of(work.name)
        .find(|f| f.subject == work.judged_by(mark));
    match ours.and_then(|figures| results.median_of(figures)) {
        None => "not measured".into(),
        Some(_) if work.kind.sizes().len() > 1 => "see the figures".into(),
        Some(value) => format!("{} {}", figure::text(value), work.unit),
    }
}

fn write_figures(out: &mut String, results: &Results) -> Result {
    writeln!(out, "## Figures\n")?;
    writeln!(
        out,
        "| work | subject | median | lowest | highest | unit | runs | cache line, us |"
    )?;
    writeln!(out, "|---|---|---:|---:|---:|---|---:|---:|")?;
    let placements = results.placements();
    let rows = (results.figures.iter()).flat_map(|figures| {
        placements
            .iter()
            .map(move |placement| (figures, *placement))
    });
    for (figures, placement) in rows {
        let values = figures.values(placement);
        let (Some(median), Some((lowest, highest)), Some(line_us)) =
            (median(&values), span(&values), figures.line_us(placement))
        else {
            continue;
        };
        let size = figures
            .size_bytes
            .map_or(String::new(), |size| format!(", {}", figure::size(size)));
        writeln!(
            out,
            "| {}{size} | {} | {} | {} | {} | {} | {} | {} |",
            figures.work.name,
            figures.subject,
            figure::text(median),
            figure::text(lowest),
            figure::text(highest),
            figures.work.unit,
            values.len(),
            figure::text(line_us)
        )?;
    }
    writeln!(out)
}

fn write_failures(out: &mut String, results: &Results) -> Result {
    let mut failed: Vec<(&Figures, &String)> = results
        .figures
        .iter()
        .filter_map(|figures| Some((figures, figures.failure.as_ref()?)))
        .collect();
    // All sizes of a run have the same reason.
    failed.dedup_by_key(|(figures, _)| (figures.work.name, figures.subject));
    if failed.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Not measured\n")?;
    for (figures, reason) in failed {
        writeln!(
            out,
            "- {}, {}: {reason}",
            figures.work.name, figures.subject
        )?;
    }
    Ok(())
}

#[cfg(test)]
use crate::results::runs;

#[test]
fn marks_figures_and_failures_are_all_said() {
    let mut results = Results::new(&[crate::work::find("pairs").unwrap()]);
    results.figures[0].runs = runs(&[2000.0]);
    results.figures[1].runs = runs(&[1000.0, 1700.0, 1800.0]);
    results.figures[2].failure = Some("mpiexec.mpich is not installed".into());
    let machine = Machine {
        facts: vec![("kernel", "6.18".into())],
    };
    let report = render(&results, &machine, &crate::suite::BCL);
    for expected in [
        "- kernel: 6.18",
        "| 2000 k messages/s | at or above Open MPI | Open MPI 1700 k messages/s | 1.18 | pass |",
        "|  | 2000 k messages/s | at least 10x MPICH's | | | not judged |",
        "| pairs | Open MPI | 1700 | 1000 | 1800 | k messages/s | 3 | 0.100 |",
        "- pairs, MPICH: mpiexec.mpich is not installed",
    ] {
        assert!(report.contains(expected), "{expected} is not in\n{report}");
    }
}

#[test]
fn what_goes_by_size_says_at_which_and_fails_once() {
    let mut results = Results::new(&[crate::work::find("mpi-hosts-alltoall").unwrap()]);
    let (ours, tcp) = results.figures.split_at_mut(18);
    for (figures, factor) in ours
        .iter_mut()
        .map(|f| (f, 1.0))
        .chain(tcp.iter_mut().map(|f| (f, 2.0)))
    {
        figures.runs = runs(&[factor * figures.size_bytes.unwrap() as f64]);
        figures.failure = Some("one round hung".into());
    }
    let machine = Machine { facts: Vec::new() };
    let report = render(&results, &machine, &crate::suite::MPI);
    let mark = "at 1 MiB | below MPICH on tcp at every size | MPICH 4.3.2 on tcp";
    assert!(report.contains(mark), "{report}");
    let row = "| mpi-hosts-alltoall, 4 KiB | MPICH 4.3.2 on bcl | 4096 |";
    assert!(report.contains(row), "{report}");
    assert_eq!(report.matches("one round hung").count(), 2, "{report}");
}
