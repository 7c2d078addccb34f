//! Results as a picture: size along, time or bandwidth up, both logarithmic.

use std::path::Path;

use plotters::prelude::*;

use super::report::Row;
use crate::failure::{Failure, Result};
use crate::size;

const WIDTH_AND_HEIGHT: (u32, u32) = (900, 560);
/// Distinguishable for the colour-blind as well (Okabe and Ito).
const COLOURS: [RGBColor; 4] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
];

/// Writes the SVG file.
pub fn draw(path: &Path, bench: &str, rows: &[Row]) -> Result<()> {
    let (what, lines) = lines(bench, rows);
    let svg = render(&format!("bcl perf {bench}"), what, &lines)
        .map_err(|error| Failure::new(format!("cannot draw {}: {error}", path.display())))?;
    std::fs::write(path, svg)
        .map_err(|error| Failure::system(format_args!("write {}", path.display()), error))
}

/// A name and its points.
#[derive(Debug, PartialEq)]
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
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
                None => lines.push(Line {
                    name: name.to_owned(),
                    points: vec![point],
                }),
            }
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    (what, lines)
}

fn render(
    title: &str,
    what: &str,
    lines: &[Line],
) -> std::result::Result<String, Box<dyn std::error::Error>> {
    let all = || lines.iter().flat_map(|line| &line.points);
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, WIDTH_AND_HEIGHT).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 22))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(76)
        .build_cartesian_2d(
            bounds(all().map(|point| point.0)).log_scale().base(2.0),
            bounds(all().map(|point| point.1)).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("message length, bytes")
        .y_desc(what)
        .x_label_formatter(&|x| size::show(x.round() as usize))
        .y_label_formatter(&|y| number(*y))
        .label_style(("sans-serif", 14))
        .light_line_style(WHITE)
        .draw()?;
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        chart
            .draw_series(LineSeries::new(
                line.points.iter().copied(),
                colour.stroke_width(2),
            ))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
        let dots = line.points.iter();
        chart.draw_series(dots.map(|point| Circle::new(*point, 3, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 14))
        .draw()?;
    area.present()?;
    drop(chart);
    drop(area);
    Ok(svg)
}

/// A range with room around the values; never empty, whatever they are.
fn bounds(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    match low.is_finite() {
        true => low / 1.5..high * 1.5,
        false => 1.0..10.0,
    }
}

fn number(value: f64) -> String {
    match value {
        1e6.. => format!("{}M", value / 1e6),
        _ => format!("{value}"),
    }
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

    #[test]
    fn a_picture_names_its_lines_and_axes() {
        let (what, lines) = lines("latency", &[row(8, 1.0), row(1024, 2.0)]);
        let svg = render("title", what, &lines).unwrap();
        for text in [
            "<svg",
            "</svg>",
            "title",
            "median",
            "one way, us",
            "message length",
        ] {
            assert!(svg.contains(text), "{text} is missing");
        }
    }

    #[test]
    fn nothing_or_a_single_point_can_be_drawn() {
        assert!(render("none", "us", &[]).is_ok());
        let (what, one) = lines("latency", &[row(8, 1.0)]);
        assert!(render("one", what, &one).is_ok());
    }
}
