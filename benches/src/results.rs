//! What was measured.

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
    /// One figure a round.
    pub runs: Vec<f64>,
    /// Why a round has no figure.
    pub failure: Option<String>,
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
    pub fn record(
        &mut self,
        work: &Work,
        subject: Subject,
        outcome: &std::result::Result<Vec<f64>, String>,
    ) {
        let of_both = self
            .figures
            .iter_mut()
            .filter(|figures| figures.work.name == work.name && figures.subject == subject);
        for (at, figures) in of_both.enumerate() {
            match outcome {
                Ok(values) => figures.runs.push(values[at]),
                Err(reason) => figures.failure = Some(reason.clone()),
            }
        }
    }

    /// The median of `subject` in the work called `work`, at that size, if it was measured.
    pub fn median(&self, work: &str, subject: Subject, size_bytes: Option<usize>) -> Option<f64> {
        self.figures
            .iter()
            .find(|figures| {
                figures.work.name == work
                    && figures.subject == subject
                    && figures.size_bytes == size_bytes
            })
            .and_then(Figures::median)
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
    /// The median of all rounds.
    pub fn median(&self) -> Option<f64> {
        median(&self.runs)
    }
}
