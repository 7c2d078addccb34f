//! What was measured.

use crate::stats::median;
use crate::subject::Subject;
use crate::work::Work;

/// All figures of one run of the benchmark.
pub struct Results {
    /// In the order of the works and, within one, of its subjects.
    pub figures: Vec<Figures>,
}

/// The figures of one subject in one work.
pub struct Figures {
    /// What was done.
    pub work: &'static Work,
    /// Who did it.
    pub subject: Subject,
    /// One figure a round.
    pub runs: Vec<f64>,
    /// Why a round has no figure.
    pub failure: Option<String>,
}

impl Results {
    /// Places for everyone who takes part in `works`.
    pub fn new(works: &[&'static Work]) -> Self {
        let figures = works.iter().flat_map(|work| {
            work.subjects.iter().map(|subject| Figures {
                work,
                subject: *subject,
                runs: Vec::new(),
                failure: None,
            })
        });
        Self {
            figures: figures.collect(),
        }
    }

    /// The median of `subject` in the work called `work`, if it was measured.
    pub fn median(&self, work: &str, subject: Subject) -> Option<f64> {
        self.figures
            .iter()
            .find(|figures| figures.work.name == work && figures.subject == subject)
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
