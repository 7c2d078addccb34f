//! Results as a picture: size along, time or bandwidth up, both logarithmic.

use std::path::Path;

use super::chart::{self, Chart, Line};
use super::report::Row;
use crate::failure::Result;
use crate::size;

/// Writes the SVG file.
pub fn draw(path: &Path, bench: &str, rows: &[Row]) -> Result<()> {
    let (up, lines) = lines(bench, rows);
    let chart = Chart {
        title: format!("bcl perf {bench}"),
        across: "message length, bytes",
        show: |x| size::show(x.round() as usize),
        up,
        lines,
        is_crowded: false,
    };
    chart::draw(path, &[chart])
}

/// What to call the upward axis, and the lines.
fn lines(bench: &str, rows: &[Row]) -> (&'static str, Vec<Line>) {
    let what = match bench {
        "bandwidth" => "MB/s",
        "rate" => "messages/s",
        "rma" => "completion, us",
        _ => "one way, us",
    };
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let values = match (bench, row.one_way_us) {
            ("bandwidth", _) => vec![("bandwidth", row.mb_per_s)],
            ("rate", _) => vec![("rate", row.messages_per_s)],
            (_, Some(us)) => match &row.operation {
                Some(operation) => vec![(operation.as_str(), Some(us.p50))],
                None => vec![
                    ("minimum", Some(us.min)),
                    ("median", Some(us.p50)),
                    ("99th percentile", Some(us.p99)),
                ],
            },
            (_, None) => continue,
        };
        for (name, value) in values {
            let Some(value) = value.filter(|value| *value > 0.0) else {
                continue;
            };
            let point = (row.size_bytes.max(1) as f64, value);
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => lines.push(Line::measured(name, vec![point])),
            }
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    (what, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::statistics::Summary;

    fn row(size_bytes: usize, p50: f64) -> Row {
        Row {
            size_bytes,
            one_way_us: Summary::of(vec![p50]),
            ..Row::default()
        }
    }

    #[test]
    fn a_line_goes_from_short_to_long() {
        let (what, lines) = lines("latency", &[row(64, 2.0), row(8, 1.0)]);
        assert_eq!(what, "one way, us");
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1].points, [(8.0, 1.0), (64.0, 2.0)]);
    }
}
