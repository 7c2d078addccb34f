//! The rows as JSON: a list of objects with `work`, `subject`, `value`, `unit`, `runs`.

use serde::Serialize;

use crate::results::Results;

/// One subject in one work.
#[derive(Serialize)]
struct Row<'a> {
    work: &'a str,
    subject: &'a str,
    /// In a work that is done at several.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<usize>,
    /// The median of those of `runs` in which the cores were placed as usual; null if there is none.
    value: Option<f64>,
    unit: &'a str,
    /// The figure of each round.
    runs: Vec<f64>,
    /// How long a cache line took from core to core in each.
    cache_line_us: Vec<f64>,
    /// Why a round has no figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
}

/// The results as JSON.
///
/// # Errors
/// None that can occur with these rows; `serde_json` wants it said.
pub fn render(results: &Results) -> serde_json::Result<String> {
    let rows: Vec<Row> = results
        .figures
        .iter()
        .map(|figures| Row {
            work: figures.work.name,
            subject: figures.subject.name(),
            size_bytes: figures.size_bytes,
            value: results.median_of(figures),
            unit: figures.work.unit,
            runs: figures.runs.iter().map(|run| run.value).collect(),
            cache_line_us: figures.runs.iter().map(|run| run.line_us).collect(),
            failure: figures.failure.as_deref(),
        })
        .collect();
    serde_json::to_string_pretty(&rows)
}

#[test]
fn each_row_has_the_names_that_readers_rely_on() {
    let mut results = Results::new(&[crate::work::find("barrier").unwrap()]);
    results.figures[0].runs = crate::results::runs(&[3.0, 1.0, 2.0]);
    results.figures[1].failure = Some("missing".into());
    let rows: serde_json::Value = serde_json::from_str(&render(&results).unwrap()).unwrap();
    assert_eq!(
        rows[0],
        serde_json::json!({
            "work": "barrier", "subject": "BCL", "value": 2.0, "unit": "us", "runs": [3.0, 1.0, 2.0],
            "cache_line_us": [0.1, 0.1, 0.1]
        })
    );
    assert_eq!(rows[1]["failure"], "missing");
    assert!(rows[1]["value"].is_null());
    let by_size = Results::new(&[crate::work::find("mpi-hosts-alltoall").unwrap()]);
    let rows: serde_json::Value = serde_json::from_str(&render(&by_size).unwrap()).unwrap();
    assert_eq!(rows[17]["size_bytes"], 1 << 20);
}
