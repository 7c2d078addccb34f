//! The picture: a panel of curves for each work that is done at several sizes, and one of bars for each other.

use std::path::Path;

use plotters::prelude::*;

use crate::error::{Error, Result};
use crate::report::curves;
use crate::report::panel::{self, Bar};
use crate::results::Results;
use crate::work::Work;

/// How panels of a kind are laid out, in as many rows as they take.
#[derive(Clone, Copy)]
struct Grid {
    columns: usize,
    height: usize,
}

const WIDTH: usize = 1320;
const CURVES: Grid = Grid {
    columns: 2,
    height: 380,
};
const BARS: Grid = Grid {
    columns: 4,
    height: 190,
};

impl Grid {
    fn rows(self, panels: usize) -> usize {
        panels.div_ceil(self.columns)
    }

    fn height_of(self, panels: usize) -> usize {
        self.rows(panels) * self.height
    }
}

/// Draws the results into the file at `path`.
///
/// # Errors
/// When the file cannot be written.
pub fn draw(results: &Results, path: &Path) -> Result<()> {
    let (by_size, single): (Vec<&Work>, Vec<&Work>) = results
        .works()
        .into_iter()
        .partition(|work| work.kind.sizes().len() > 1);
    let of_curves = CURVES.height_of(by_size.len());
    let height = of_curves + BARS.height_of(single.len());
    let failed = |reason: &dyn ToString| Error::Plot {
        path: path.to_owned(),
        reason: reason.to_string(),
    };
    let root = SVGBackend::new(path, (WIDTH as u32, height as u32)).into_drawing_area();
    root.fill(&WHITE).map_err(|e| failed(&e))?;
    let (upper, lower) = root.split_vertically(of_curves as u32);
    let areas = upper.split_evenly((CURVES.rows(by_size.len()), CURVES.columns));
    for (work, area) in by_size.iter().zip(areas) {
        curves::draw(&area, work, results).map_err(|e| failed(&e))?;
    }
    let areas = lower.split_evenly((BARS.rows(single.len()), BARS.columns));
    for (work, area) in single.iter().zip(areas) {
        let measured = results.of(work.name).filter_map(|figures| {
            Some(Bar::of_subject(
                figures.subject,
                results.median_of(figures)?,
            ))
        });
        let bars: Vec<Bar> = measured
            .chain(work.marks.iter().filter_map(Bar::of_mark))
            .collect();
        panel::draw(&area, work, &bars).map_err(|e| failed(&e))?;
    }
    root.present().map_err(|e| failed(&e))
}

#[test]
fn panels_take_as_many_rows_as_they_fill() {
    assert_eq!(
        [0, 1, 4, 5].map(|panels| BARS.height_of(panels)),
        [0, 190, 190, 380]
    );
    assert_eq!(CURVES.height_of(3), 760);
}
