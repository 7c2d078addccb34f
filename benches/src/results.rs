//! What was measured.

use crate::placement::Placement;
use crate::stand::Outcome;
use crate::stats::median;
use crate::subject::Subject;
use crate::work::Work;

/// All figures of one run of the benchmark.
pub struct Results {
    /// In the order of the works and, within one, of its subjects, and of the sizes.
    pub figures: Vec<Figures>,
}

/// The figures of one subject in one work, at one size if it is done at several.
pub struct Figures {
    /// What was done.
    pub work: &'static Work,
    /// Who did it.
    pub subject: Subject,
    /// The size, in a work that is done at several.
    pub size_bytes: Option<usize>,
    /// One a round.
    pub runs: Vec<Run>,
    /// Why a round has no figure.
    pub failure: Option<String>,
}

/// What one round came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// In the unit of the work.
    pub value: f64,
    /// How long a cache line took from core to core meanwhile.
    pub line_us: f64,
}

impl Results {
    /// Places for everyone who takes part in `works`.
    pub fn new(works: &[&'static Work]) -> Self {
        let mut figures = Vec::new();
        for work in works {
            for subject in work.subjects {
                figures.extend(work.kind.sizes().into_iter().map(|size_bytes| Figures {
                    work,
                    subject: *subject,
                    size_bytes,
                    runs: Vec::new(),
                    failure: None,
                }));
            }
        }
        Self { figures }
    }

    /// Takes what one round of `subject` in `work` came to: a figure for each size, or why there is none.
    pub fn record(&mut self, work: &Work, subject: Subject, outcome: &Outcome, line_us: f64) {
        let of_both = self
            .figures
            .iter_mut()
            .filter(|figures| figures.work.name == work.name && figures.subject == subject);
        for (at, figures) in of_both.enumerate() {
            match outcome {
                Ok(values) => figures.runs.push(Run {
                    value: values[at],
                    line_us,
                }),
                Err(reason) => figures.failure = Some(reason.clone()),
            }
        }
    }

    /// The placements that the cores had.
    pub fn placements(&self) -> Vec<Placement> {
        let runs = self.figures.iter().flat_map(|figures| &figures.runs);
        Placement::among(runs.map(|run| run.line_us))
    }

    /// Of those, the one that most runs of a work had; the nearest of two that are equal. Its runs are compared.
    pub fn usual(&self, work: &str) -> Placement {
        let count = |placement: &Placement| -> usize {
            self.of(work).map(|f| f.values(*placement).len()).sum()
        };
        let placements = self.placements();
        let most = placements.iter().rev().max_by_key(|p| count(p));
        *most.expect("there is at least one")
    }

    /// The median of `subject` in the work called `work`, at that size, if it was measured.
    pub fn median(&self, work: &str, subject: Subject, size_bytes: Option<usize>) -> Option<f64> {
        let figures = self
            .of(work)
            .find(|f| f.subject == subject && f.size_bytes == size_bytes)?;
        self.median_of(figures)
    }

    /// The median of some of these figures in the usual placement of their work; in any, if they have none of that.
    pub fn median_of(&self, figures: &Figures) -> Option<f64> {
        let usual = figures.values(self.usual(figures.work.name));
        median(&usual).or_else(|| median(&figures.values(Placement::ANY)))
    }

    /// The works that were measured, in their order.
    pub fn works(&self) -> Vec<&'static Work> {
        let mut works: Vec<&'static Work> = self.figures.iter().map(|f| f.work).collect();
        works.dedup_by_key(|work| work.name);
        works
    }

    /// The subjects' figures in the work called `work`.
    pub fn of(&self, work: &str) -> impl Iterator<Item = &Figures> {
        self.figures.iter().filter(move |f| f.work.name == work)
    }
}

impl Figures {
    /// The figures of the rounds in which the cores were so placed.
    pub fn values(&self, placement: Placement) -> Vec<f64> {
        let there = self.runs.iter().filter(|run| placement.has(run.line_us));
        there.map(|run| run.value).collect()
    }

    /// How long a cache line took in those, the median.
    pub fn line_us(&self, placement: Placement) -> Option<f64> {
        let lines = self.runs.iter().map(|run| run.line_us);
        median(
            &lines
                .filter(|line| placement.has(*line))
                .collect::<Vec<_>>(),
        )
    }
}

/// Runs of one placement, for tests.
#[cfg(test)]
pub fn runs(values: &[f64]) -> Vec<Run> {
    let line_us = 0.1;
    let run = |value: &f64| Run {
        value: *value,
        line_us,
    };
    values.iter().map(run).collect()
}

#[test]
fn only_runs_of_one_placement_are_compared() {
    let work = crate::work::find("latency-8").unwrap();
    let mut results = Results::new(&[work]);
    let ucx = work.subjects[1];
    for (ours, other, line_us) in [(1.0, 2.0, 0.05), (3.0, 6.0, 0.30), (1.2, 2.2, 0.06)] {
        results.record(work, Subject::Bcl, &Ok(vec![ours]), line_us);
        results.record(work, ucx, &Ok(vec![other]), line_us);
    }
    let medians = [Subject::Bcl, ucx].map(|who| results.median(work.name, who, None));
    assert_eq!(medians, [Some(1.1), Some(2.1)]);
    let [near, far] = results.placements()[..] else {
        panic!("there are two");
    };
    assert_eq!(results.usual(work.name), near);
    assert_eq!(results.figures[0].values(far), [3.0]);
    assert_eq!(results.figures[0].line_us(far), Some(0.30));
    results.figures[0].runs.retain(|run| far.has(run.line_us));
    assert_eq!(results.median(work.name, Subject::Bcl, None), Some(3.0));
}
