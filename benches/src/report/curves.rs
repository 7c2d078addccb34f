//! One panel of the picture for a work that is done at several sizes: size along, figure up, a curve for each subject.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::figure;
use crate::results::Results;
use crate::subject::Subject;
use crate::work::Work;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Outcome<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// Ours, us without MPI, and the others; distinguishable for the colour-blind as well (Okabe and Ito).
const OURS: RGBColor = RGBColor(0, 114, 178);
const WITHOUT_MPI: RGBColor = RGBColor(86, 180, 233);
const OTHERS: [RGBColor; 2] = [RGBColor(213, 94, 0), RGBColor(0, 158, 115)];

/// The medians of one subject.
struct Curve {
    name: &'static str,
    colour: RGBColor,
    points: Vec<(f64, f64)>,
}

/// Draws the curves of `work` into `area`.
pub fn draw<'a>(area: &Area<'a>, work: &Work, results: &Results) -> Outcome<'a> {
    let curves = curves(work, results);
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let mut chart = ChartBuilder::on(area)
        .caption(
            format!("{}, {}", work.title, work.unit),
            ("sans-serif", 15).into_font().style(FontStyle::Bold),
        )
        .margin(12)
        .x_label_area_size(24)
        .y_label_area_size(58)
        .build_cartesian_2d(
            around(all().map(|point| point.0)).log_scale().base(2.0),
            around(all().map(|point| point.1)).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_labels(9)
        .x_label_formatter(&|size| figure::size(size.round() as usize))
        .y_label_formatter(&|value| format!("{value}"))
        .label_style(("sans-serif", 11))
        .light_line_style(WHITE)
        .draw()?;
    for Curve {
        name,
        colour,
        points,
    } in curves
    {
        chart
            .draw_series(LineSeries::new(
                points.iter().copied(),
                colour.stroke_width(2),
            ))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        let dots = points.into_iter();
        chart.draw_series(dots.map(|point| Circle::new(point, 2, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .label_font(("sans-serif", 11))
        .draw()
}

fn curves(work: &Work, results: &Results) -> Vec<Curve> {
    let mut others = OTHERS.iter().cycle();
    let mut curve = |subject: Subject| {
        let colour = match subject {
            _ if subject == work.ours() => OURS,
            Subject::Bcl => WITHOUT_MPI,
            _ => *others.next().expect("a cycle has no end"),
        };
        let of_subject = results.of(work.name).filter(|f| f.subject == subject);
        let points = of_subject
            .filter_map(|figures| Some((figures.size_bytes? as f64, results.median_of(figures)?)))
            .filter(|point| point.1 > 0.0)
            .collect();
        Curve {
            name: subject.name(),
            colour,
            points,
        }
    };
    work.subjects
        .iter()
        .map(|subject| curve(*subject))
        .collect()
}

/// A range with room around the values; never empty, whatever they are.
fn around(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if low.is_finite() {
        low / 1.5..high * 1.5
    } else {
        1.0..10.0
    }
}

#[test]
fn a_curve_has_the_medians_of_its_subject_and_a_colour_of_its_own() {
    let work = crate::work::find("mpi-hosts-stream-9000").unwrap();
    let mut results = Results::new(&[work]);
    for figures in &mut results.figures {
        if figures.subject == Subject::MpichOnTcp && figures.size_bytes != Some(16) {
            figures.runs = crate::results::runs(&[3.0, 1.0, 2.0]);
        }
    }
    let curves = curves(work, &results);
    let names: Vec<&str> = curves.iter().map(|curve| curve.name).collect();
    assert_eq!(names, ["MPICH 4.3.2 on bcl", "BCL", "MPICH 4.3.2 on tcp"]);
    assert_eq!(curves[2].points[..2], [(8.0, 2.0), (32.0, 2.0)]);
    assert!(curves[0].points.is_empty());
    let colours: Vec<RGBColor> = curves.iter().map(|curve| curve.colour).collect();
    assert!(colours[0] != colours[1] && colours[1] != colours[2] && colours[0] != colours[2]);
}

#[test]
fn a_range_reaches_around_its_values_and_is_never_empty() {
    assert_eq!(around([2.0, 6.0].into_iter()), 2.0 / 1.5..9.0);
    assert_eq!(around(std::iter::empty()), 1.0..10.0);
}
