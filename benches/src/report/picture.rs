//! `results.svg`: a panel of bars for each work.

use std::path::Path;

use plotters::prelude::*;

use crate::error::{Error, Result};
use crate::report::panel::{self, Bar};
use crate::results::Results;

const COLUMNS: usize = 4;
const PANEL_WIDTH: usize = 330;
const PANEL_HEIGHT: usize = 190;

/// Draws the results into the file at `path`.
///
/// # Errors
/// When the file cannot be written.
pub fn draw(results: &Results, path: &Path) -> Result<()> {
    let works = results.works();
    let rows = works.len().div_ceil(COLUMNS);
    let size = ((COLUMNS * PANEL_WIDTH) as u32, (rows * PANEL_HEIGHT) as u32);
    let failed = |reason: &dyn ToString| Error::Plot {
        path: path.to_owned(),
        reason: reason.to_string(),
    };
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE).map_err(|e| failed(&e))?;
    for (work, area) in works.iter().zip(root.split_evenly((rows, COLUMNS))) {
        let measured = results
            .of(work.name)
            .filter_map(|figures| Some(Bar::of_subject(figures.subject, figures.median()?)));
        let bars: Vec<Bar> = measured
            .chain(work.marks.iter().filter_map(Bar::of_mark))
            .collect();
        panel::draw(&area, work, &bars).map_err(|e| failed(&e))?;
    }
    root.present().map_err(|e| failed(&e))
}
