//! Charts: something along, time or bandwidth up, both logarithmic; one, or several on a sheet.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::failure::{Failure, Result};

const WIDTH_AND_HEIGHT: (u32, u32) = (900, 560);
/// Distinguishable for the colour-blind as well (Okabe and Ito).
const COLOURS: [RGBColor; 4] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
];

/// So much room a crowded chart has above its values.
const CROWD: f64 = 30.0;

/// One chart.
pub struct Chart {
    pub title: String,
    /// What is along, and how its values are written.
    pub across: &'static str,
    pub show: fn(f64) -> String,
    /// What is up.
    pub up: &'static str,
    pub lines: Vec<Line>,
    /// What lines are called stands above them, at the right; else at the left, where rising lines leave room.
    pub is_crowded: bool,
}

/// A name and its points.
#[derive(Debug, PartialEq)]
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    /// Not measured here: points without a line.
    pub is_quoted: bool,
}

impl Line {
    pub fn measured(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        let (name, is_quoted) = (name.into(), false);
        Self {
            name,
            points,
            is_quoted,
        }
    }
}

/// Writes the charts into an SVG file.
pub fn draw(path: &Path, charts: &[Chart]) -> Result<()> {
    let svg = render(charts)
        .map_err(|error| Failure::new(format!("cannot draw {}: {error}", path.display())))?;
    std::fs::write(path, svg)
        .map_err(|error| Failure::system(format_args!("write {}", path.display()), error))
}

/// Two beside each other, if there are several.
pub fn render(charts: &[Chart]) -> std::result::Result<String, Box<dyn Error>> {
    let columns = charts.len().clamp(1, 2);
    let rows = charts.len().div_ceil(columns).max(1);
    let (width, height) = WIDTH_AND_HEIGHT;
    let mut svg = String::new();
    {
        let size = (width * columns as u32, height * rows as u32);
        let sheet = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        sheet.fill(&WHITE)?;
        for (chart, area) in charts.iter().zip(sheet.split_evenly((rows, columns))) {
            chart.draw_on(&area)?;
        }
        sheet.present()?;
    }
    Ok(svg)
}

impl Chart {
    fn draw_on(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
    ) -> std::result::Result<(), Box<dyn Error>> {
        let all = || self.lines.iter().flat_map(|line| &line.points);
        let mut up = bounds(all().map(|point| point.1));
        let position = match self.is_crowded {
            true => SeriesLabelPosition::UpperRight,
            false => SeriesLabelPosition::UpperLeft,
        };
        if self.is_crowded {
            up.end *= CROWD;
        }
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 22))
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(76)
            .build_cartesian_2d(
                bounds(all().map(|point| point.0)).log_scale().base(2.0),
                up.log_scale(),
            )?;
        chart
            .configure_mesh()
            .x_desc(self.across)
            .y_desc(self.up)
            .x_label_formatter(&|x| (self.show)(*x))
            .y_label_formatter(&|y| number(*y))
            .label_style(("sans-serif", 14))
            .light_line_style(WHITE)
            .draw()?;
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let points = || line.points.iter().copied();
            let dots = points().map(|point| match line.is_quoted {
                true => Circle::new(point, 5, colour.stroke_width(2)),
                false => Circle::new(point, 3, colour.filled()),
            });
            let of_dots = chart.draw_series(dots)?;
            match line.is_quoted {
                true => of_dots
                    .label(&line.name)
                    .legend(move |(x, y)| Circle::new((x + 10, y), 5, colour.stroke_width(2))),
                false => chart
                    .draw_series(LineSeries::new(points(), colour.stroke_width(2)))?
                    .label(&line.name)
                    .legend(move |(x, y)| {
                        PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2))
                    }),
            };
        }
        chart
            .configure_series_labels()
            .position(position)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .label_font(("sans-serif", 14))
            .draw()?;
        Ok(())
    }
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

    fn chart(lines: Vec<Line>) -> Chart {
        Chart {
            title: "title".into(),
            across: "along",
            show: |x| format!("{x}"),
            up: "one way, us",
            lines,
            is_crowded: true,
        }
    }

    #[test]
    fn a_picture_names_its_lines_and_axes() {
        let measured = Line::measured("median", vec![(8.0, 1.0), (1024.0, 2.0)]);
        let quoted = Line {
            is_quoted: true,
            ..Line::measured("theirs", vec![(8.0, 7.8)])
        };
        let svg = render(&[chart(vec![measured, quoted])]).unwrap();
        for text in [
            "<svg",
            "</svg>",
            "title",
            "median",
            "theirs",
            "one way, us",
            "along",
        ] {
            assert!(svg.contains(text), "{text} is missing");
        }
    }

    #[test]
    fn nothing_a_single_point_and_several_charts_can_be_drawn() {
        assert!(render(&[]).is_ok());
        assert!(render(&[chart(Vec::new())]).is_ok());
        let one = || chart(vec![Line::measured("one", vec![(8.0, 1.0)])]);
        let svg = render(&[one(), one(), one()]).unwrap();
        assert_eq!(
            svg.matches(">title<").count() + svg.matches("title\n").count(),
            3
        );
    }
}
