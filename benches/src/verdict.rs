//! Whether a figure meets its mark, and by how much.

use crate::results::Results;
use crate::subject::Subject;
use crate::work::{Mark, Reference, Work};

/// Our figure beside the one it is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// At which size, in a work that is done at several: the one that is furthest from meeting the mark.
    pub size_bytes: Option<usize>,
    /// Our figure.
    pub ours: f64,
    /// Whom the reference comes from; none if it is a fixed figure.
    pub against: Option<String>,
    /// The reference.
    pub reference: f64,
    /// Our figure divided by the reference; none if that is zero.
    pub ratio: Option<f64>,
    /// Whether the mark is met.
    pub met: bool,
}

/// Compares our median in `work` with `mark`, at each size that the mark is for; none if one of two was not measured.
pub fn judge(results: &Results, work: &Work, mark: &Mark) -> Option<Verdict> {
    let sizes = match mark.size_bytes {
        Some(size_bytes) => vec![Some(size_bytes)],
        None => work.kind.sizes(),
    };
    let verdicts: Option<Vec<Verdict>> = sizes
        .into_iter()
        .map(|size_bytes| judge_at(results, work, mark, size_bytes))
        .collect();
    verdicts?.into_iter().max_by(|a, b| {
        let lack = |verdict: &Verdict| {
            let ratio = verdict.ratio.unwrap_or(0.0);
            if mark.compare.wants_less() {
                ratio
            } else {
                -ratio
            }
        };
        a.met
            .cmp(&b.met)
            .reverse()
            .then(lack(a).total_cmp(&lack(b)))
    })
}

fn judge_at(
    results: &Results,
    work: &Work,
    mark: &Mark,
    size_bytes: Option<usize>,
) -> Option<Verdict> {
    let ours = results.median(work.name, work.judged_by(mark), size_bytes)?;
    let (against, reference) = reference(results, work, mark, size_bytes)?;
    Some(Verdict {
        size_bytes,
        ours,
        against,
        reference,
        ratio: (reference != 0.0).then(|| ours / reference),
        met: mark.compare.holds(ours, reference * mark.factor),
    })
}

fn reference(
    results: &Results,
    work: &Work,
    mark: &Mark,
    size_bytes: Option<usize>,
) -> Option<(Option<String>, f64)> {
    match mark.reference {
        Reference::Value(value) => Some((None, value)),
        Reference::OtherWork(name) => {
            let value = results.median(name, work.ours(), size_bytes)?;
            Some((Some(format!("{} {name}", work.ours())), value))
        }
        Reference::Best(subjects) => {
            let measured = subjects.iter().filter_map(|subject| {
                Some((*subject, results.median(work.name, *subject, size_bytes)?))
            });
            let by_value = |a: &(Subject, f64), b: &(Subject, f64)| a.1.total_cmp(&b.1);
            let (subject, value) = if mark.compare.wants_less() {
                measured.min_by(by_value)?
            } else {
                measured.max_by(by_value)?
            };
            Some((Some(subject.to_string()), value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::runs;
    use crate::work::find;

    fn results(work: &str, medians: &[(Subject, f64)]) -> Results {
        let mut results = Results::new(&[find(work).unwrap()]);
        for figures in &mut results.figures {
            let of_subject = medians.iter().find(|(s, _)| *s == figures.subject);
            figures
                .runs
                .extend(of_subject.map(|(_, value)| runs(&[*value])[0]));
        }
        results
    }

    #[test]
    fn the_best_of_the_others_is_the_one_to_beat() {
        let work = find("latency-8").unwrap();
        let medians = [
            (Subject::Bcl, 0.3),
            (Subject::UcxPosix, 0.4),
            (Subject::UcxSysv, 0.2),
        ];
        let verdict = judge(&results("latency-8", &medians), work, &work.marks[0]).unwrap();
        assert_eq!(verdict.against.as_deref(), Some("UCX sysv"));
        assert!(!verdict.met);
        assert!((verdict.ratio.unwrap() - 1.5).abs() < 1e-9);
    }

    #[test]
    fn a_factor_widens_the_mark() {
        let work = find("latency-8").unwrap();
        let medians = [(Subject::Bcl, 0.3), (Subject::CacheLine, 0.1)];
        let mark = &work.marks[1];
        let verdict = judge(&results("latency-8", &medians), work, mark).unwrap();
        assert!(verdict.met, "3x of 0.1 is allowed");
    }

    #[test]
    fn zero_is_met_by_zero_and_has_no_ratio() {
        let work = find("system-calls").unwrap();
        let calls = |count| results("system-calls", &[(Subject::Bcl, count)]);
        let none = judge(&calls(0.0), work, &work.marks[0]).unwrap();
        assert_eq!((none.met, none.ratio), (true, None));
        assert!(!judge(&calls(1.0), work, &work.marks[0]).unwrap().met);
    }

    #[test]
    fn without_the_other_there_is_no_verdict() {
        let work = find("latency-8").unwrap();
        let only_us = results("latency-8", &[(Subject::Bcl, 0.3)]);
        assert_eq!(judge(&only_us, work, &work.marks[0]), None);
    }

    /// `mpi-hosts-allreduce` with us at 1.0 and tcp at 2.0, but for one size.
    fn allreduce(at_bytes: usize, ours: f64, tcp: f64) -> Verdict {
        let work = find("mpi-hosts-allreduce").unwrap();
        let medians = [(Subject::MpichOnBcl, 1.0), (Subject::MpichOnTcp, 2.0)];
        let mut results = results(work.name, &medians);
        for figures in &mut results.figures {
            if figures.size_bytes == Some(at_bytes) {
                let value = if figures.subject.is_ours() { ours } else { tcp };
                figures.runs = runs(&[value]);
            }
        }
        judge(&results, work, &work.marks[0]).unwrap()
    }

    #[test]
    fn one_size_that_misses_is_what_is_told_of_all() {
        let missed = allreduce(256, 7.0, 6.0);
        assert_eq!((missed.met, missed.size_bytes), (false, Some(256)));
        assert_eq!((missed.ours, missed.reference), (7.0, 6.0));
        let narrowest = allreduce(1 << 20, 1.9, 2.0);
        assert_eq!((narrowest.met, narrowest.size_bytes), (true, Some(1 << 20)));
    }

    #[test]
    fn a_mark_for_one_size_does_not_see_the_others() {
        let work = find("mpi-hosts-stream-9000").unwrap();
        let medians = [(Subject::MpichOnBcl, 10.0), (Subject::MpichOnTcp, 100.0)];
        let mut results = results(work.name, &medians);
        for figures in &mut results.figures {
            if figures.size_bytes == Some(1 << 20) && figures.subject == work.ours() {
                figures.runs = runs(&[151.0]);
            }
        }
        let verdict = judge(&results, work, &work.marks[1]).unwrap();
        assert!(verdict.met && verdict.ratio == Some(1.51), "{verdict:?}");
        assert_eq!(judge(&results, work, &work.marks[0]), None);
    }

    #[test]
    fn a_mark_of_another_of_ours_takes_its_figure() {
        let work = find("mpi-crowd-storm").unwrap();
        let medians = [
            (Subject::MpichOnBcl, 9.0),
            (Subject::OpenMpiOnBcl, 4.0),
            (Subject::MpichOwn, 50.0),
            (Subject::OpenMpiOwn, 2.0),
        ];
        let results = results(work.name, &medians);
        let [of_mpich, of_open_mpi] =
            [0, 1].map(|at| judge(&results, work, &work.marks[at]).unwrap());
        assert!(!of_mpich.met && of_open_mpi.met);
        assert_eq!((of_mpich.ratio, of_open_mpi.ratio), (Some(4.5), Some(2.0)));
    }

    #[test]
    fn a_size_without_a_figure_leaves_the_mark_for_all_unjudged() {
        let work = find("mpi-hosts-alltoall").unwrap();
        let medians = [(Subject::MpichOnBcl, 1.0), (Subject::MpichOnTcp, 2.0)];
        let mut results = results(work.name, &medians);
        results.figures[3].runs.clear();
        assert_eq!(judge(&results, work, &work.marks[0]), None);
    }
}
