//! `results.md`: the marks first, then every figure, then what was missing.

use std::fmt::{Result, Write};

use crate::figure;
use crate::machine::Machine;
use crate::results::{Figures, Results};
use crate::stats::span;
use crate::subject::Subject;
use crate::verdict::judge;

const METHOD: &str = "\
Everyone in turn in each round; a figure is the median of the rounds. Two processes are pinned to a core
each, a crowd may use both (`taskset`). Latencies are medians over batches of one run, rates are means.
All receive into memory of the receiving program; streams send the same buffer again and again, one message in flight,
between hosts four. Hosts are two network namespaces with a veth between them; lost packets are lost by bpf/faults.bpf.c
at both ends. fi_pingpong gives means, and for a stream its ping-pong; iperf3 has the congestion control that suits it
best. The memory of a peer is what the port grows by for each peer after its first: private memory and the segments it may
write; the page that a peer lends read-only belongs to the peer. The means need a quiet machine.";

/// The whole report.
pub fn render(results: &Results, machine: &Machine) -> String {
    let mut text = String::new();
    write_report(&mut text, results, machine).expect("a String takes all that is written to it");
    text
}

fn write_report(out: &mut String, results: &Results, machine: &Machine) -> Result {
    writeln!(out, "# BCL, the machine and the others\n")?;
    for (name, value) in &machine.facts {
        writeln!(out, "- {name}: {value}")?;
    }
    writeln!(out, "\n{METHOD}\n")?;
    write_marks(out, results)?;
    write_figures(out, results)?;
    write_failures(out, results)
}

fn write_marks(out: &mut String, results: &Results) -> Result {
    writeln!(out, "## Marks\n")?;
    writeln!(out, "| work | BCL | mark | against | ratio | |")?;
    writeln!(out, "|---|---:|---|---|---:|---|")?;
    for work in results.works() {
        let ours = results.median(work.name, Subject::Bcl);
        let ours = ours.map_or("not measured".into(), |value| {
            format!("{} {}", figure::text(value), work.unit)
        });
        for (index, mark) in work.marks.iter().enumerate() {
            let (title, ours) = if index == 0 {
                (work.title, ours.as_str())
            } else {
                ("", "")
            };
            write!(out, "| {title} | {ours} | {} |", mark.text)?;
            let Some(verdict) = judge(results, work, mark) else {
                writeln!(out, " | | not judged |")?;
                continue;
            };
            let reference = figure::text(verdict.reference);
            match &verdict.against {
                Some(who) => write!(out, " {who} {reference} {}", work.unit)?,
                None => write!(out, " {reference} {}", work.unit)?,
            }
            let ratio = verdict.ratio.map_or(String::new(), |r| format!("{r:.2}"));
            let outcome = if verdict.met { "pass" } else { "**miss**" };
            writeln!(out, " | {ratio} | {outcome} |")?;
        }
    }
    writeln!(out)
}

fn write_figures(out: &mut String, results: &Results) -> Result {
    writeln!(out, "## Figures\n")?;
    writeln!(out, "| work | subject | median | lowest | highest | unit |")?;
    writeln!(out, "|---|---|---:|---:|---:|---|")?;
    for figures in &results.figures {
        let (Some(median), Some((lowest, highest))) = (figures.median(), span(&figures.runs))
        else {
            continue;
        };
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            figures.work.name,
            figures.subject,
            figure::text(median),
            figure::text(lowest),
            figure::text(highest),
            figures.work.unit
        )?;
    }
    writeln!(out)
}

fn write_failures(out: &mut String, results: &Results) -> Result {
    let failed: Vec<(&Figures, &String)> = results
        .figures
        .iter()
        .filter_map(|figures| Some((figures, figures.failure.as_ref()?)))
        .collect();
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

#[test]
fn marks_figures_and_failures_are_all_said() {
    let mut results = Results::new(&[crate::work::find("pairs").unwrap()]);
    results.figures[0].runs = vec![2000.0];
    results.figures[1].runs = vec![1000.0, 1700.0, 1800.0];
    results.figures[2].failure = Some("mpiexec.mpich is not installed".into());
    let machine = Machine {
        facts: vec![("kernel", "6.18".into())],
    };
    let report = render(&results, &machine);
    for expected in [
        "- kernel: 6.18",
        "| 2000 k messages/s | at or above Open MPI | Open MPI 1700 k messages/s | 1.18 | pass |",
        "| at least 10x MPICH's | | | not judged |",
        "| pairs | Open MPI | 1700 | 1000 | 1800 | k messages/s |",
        "- pairs, MPICH: mpiexec.mpich is not installed",
    ] {
        assert!(report.contains(expected), "{expected} is not in\n{report}");
    }
}
