//! The paper's figures 1, 4, 5 and 6 with what was measured here, beside what the paper's text says of its own ("Low-Latency Message Passing on
//! Workstation Clusters using SCRAMNet", section 5; four hosts of two Pentium II of 300 MHz).

use std::path::Path;

use super::report::{Row, What};
use crate::failure::Result;
use crate::perf::chart::{self, Chart, Line};
use crate::size;

const LENGTH: &str = "message length, bytes";

/// Writes the SVG file.
pub fn draw(path: &Path, rows: &[Row]) -> Result<()> {
    chart::draw(path, &charts(rows))
}

fn charts(rows: &[Row]) -> [Chart; 4] {
    let readers = rows.iter().map(|row| row.members).max().unwrap_or(1) - 1;
    let message = || by_length(rows, What::Message, "a message".into());
    let multicast = || by_length(rows, What::Multicast, format!("a multicast to {readers}"));
    let tree = by_length(
        rows,
        What::Tree,
        format!("messages along a tree, to {readers}"),
    );
    [
        of_lengths(
            "Figure 1: a message, one way",
            vec![
                message(),
                quoted("the paper: billboard", &[(0, 6.5), (4, 7.8)]),
                quoted("the paper: MPI on it", &[(0, 44.0), (4, 49.0)]),
            ],
        ),
        of_lengths(
            "Figure 4: a message and a broadcast",
            vec![
                message(),
                multicast(),
                quoted("the paper: a message", &[(4, 7.8)]),
                quoted("the paper: a broadcast to 4", &[(4, 10.1)]),
            ],
        ),
        of_lengths(
            "Figure 5: broadcast by multicast and by messages (the paper's text has no times)",
            vec![multicast(), tree],
        ),
        Chart {
            title: "Figure 6: barrier".into(),
            across: "members",
            show: whole,
            up: "us",
            is_crowded: true,
            lines: vec![
                by_members(rows, What::Barrier, "by multicast"),
                by_members(rows, What::BarrierByMessages, "by messages"),
                quoted("the paper: by multicast", &[(3, 37.0)]),
                quoted("the paper: MPI, by messages", &[(3, 179.0)]),
                quoted("the paper: MPI, Fast Ethernet", &[(3, 554.0)]),
                quoted("the paper: MPI, ATM", &[(3, 660.0)]),
            ],
        },
    ]
}

fn of_lengths(title: &str, lines: Vec<Line>) -> Chart {
    Chart {
        title: title.into(),
        across: LENGTH,
        show: |x| size::show(x.round() as usize),
        up: "until the last has it, us",
        lines,
        is_crowded: true,
    }
}

/// Members are not halved.
fn whole(number: f64) -> String {
    match (number - number.round()).abs() < 0.01 {
        true => format!("{}", number.round()),
        false => String::new(),
    }
}

fn by_length(rows: &[Row], what: What, name: String) -> Line {
    // An empty message stands where one of a byte would.
    let at = |row: &Row| row.size_bytes.max(1) as f64;
    Line::measured(name, points(rows, what, at))
}

fn by_members(rows: &[Row], what: What, name: &str) -> Line {
    Line::measured(name, points(rows, what, |row| f64::from(row.members)))
}

fn points(rows: &[Row], what: What, at: impl Fn(&Row) -> f64) -> Vec<(f64, f64)> {
    let of_it = rows.iter().filter(|row| row.what == what);
    let points = of_it.filter_map(|row| Some((at(row), row.until_all_us?.p50)));
    let mut points: Vec<_> = points.filter(|(_, us)| *us > 0.0).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn quoted(name: &str, points: &[(u32, f64)]) -> Line {
    let points = points.iter().map(|(at, us)| (f64::from((*at).max(1)), *us));
    Line {
        is_quoted: true,
        ..Line::measured(name, points.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::statistics::Summary;

    #[test]
    fn each_figure_has_our_lines_and_the_papers_numbers() {
        let row = |what, size_bytes, members, us| Row {
            what,
            size_bytes,
            members,
            until_all_us: Summary::of(vec![us]),
            delivered_us: None,
            post_us: None,
        };
        let rows = [
            row(What::Message, 4, 2, 0.5),
            row(What::Message, 0, 2, 0.4),
            row(What::Multicast, 4, 5, 0.6),
            row(What::Barrier, 0, 5, 2.0),
        ];
        let charts = charts(&rows);
        assert_eq!(charts[0].lines[0].points, [(1.0, 0.4), (4.0, 0.5)]);
        assert_eq!(charts[1].lines[1].points, [(4.0, 0.6)]);
        assert_eq!(charts[3].lines[0].points, [(5.0, 2.0)]);
        let svg = chart::render(&charts).unwrap();
        for text in [
            "Figure 1",
            "Figure 4",
            "Figure 5",
            "Figure 6",
            "a multicast to 4",
            "the paper: by multicast",
        ] {
            assert!(svg.contains(text), "{text} is missing");
        }
    }
}
