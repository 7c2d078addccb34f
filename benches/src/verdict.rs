//! Whether a figure meets its mark, and by how much.

use crate::results::Results;
use crate::subject::Subject;
use crate::work::{Mark, Reference, Work};

/// BCL's figure beside the one it is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Whom the reference comes from; none if it is a fixed figure.
    pub against: Option<String>,
    /// The reference.
    pub reference: f64,
    /// BCL's figure divided by the reference; none if that is zero.
    pub ratio: Option<f64>,
    /// Whether the mark is met.
    pub met: bool,
}

/// Compares BCL's median in `work` with `mark`; none if one of the two was not measured.
pub fn judge(results: &Results, work: &Work, mark: &Mark) -> Option<Verdict> {
    let ours = results.median(work.name, Subject::Bcl)?;
    let (against, reference) = reference(results, work, mark)?;
    Some(Verdict {
        against,
        reference,
        ratio: (reference != 0.0).then(|| ours / reference),
        met: mark.compare.holds(ours, reference * mark.factor),
    })
}

fn reference(results: &Results, work: &Work, mark: &Mark) -> Option<(Option<String>, f64)> {
    match mark.reference {
        Reference::Value(value) => Some((None, value)),
        Reference::OtherWork(name) => {
            let value = results.median(name, Subject::Bcl)?;
            Some((Some(format!("BCL {name}")), value))
        }
        Reference::Best(subjects) => {
            let measured = subjects
                .iter()
                .filter_map(|subject| Some((*subject, results.median(work.name, *subject)?)));
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
    use crate::work::find;

    fn results(work: &str, medians: &[(Subject, f64)]) -> Results {
        let mut results = Results::new(&[find(work).unwrap()]);
        for figures in &mut results.figures {
            let of_subject = medians.iter().find(|(s, _)| *s == figures.subject);
            figures.runs.extend(of_subject.map(|(_, value)| *value));
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
}
