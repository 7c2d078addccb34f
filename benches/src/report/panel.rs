//! One panel of the picture: a bar for each subject of a work and one for a mark that is a fixed figure.

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::figure;
use crate::subject::Subject;
use crate::work::{Mark, Reference, Work};

/// One bar: who, how long, and in which colour.
pub struct Bar {
    name: &'static str,
    value: f64,
    colour: RGBColor,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Outcome<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

const MARGIN: i32 = 12;
const TITLE_HEIGHT: i32 = 40;
const ROW_HEIGHT: i32 = 22;
const BAR_HEIGHT: i32 = 14;
const NAME_WIDTH: i32 = 122;
const VALUE_WIDTH: i32 = 50;

const OURS: RGBColor = RGBColor(0, 114, 178);
const LIMIT: RGBColor = RGBColor(170, 170, 170);
const OTHERS: RGBColor = RGBColor(230, 159, 0);

impl Bar {
    /// The median of a subject.
    pub fn of_subject(subject: Subject, value: f64) -> Self {
        let colour = match subject {
            ours if ours.is_ours() => OURS,
            limit if limit.is_limit() => LIMIT,
            _ => OTHERS,
        };
        Self {
            name: subject.name(),
            value,
            colour,
        }
    }

    /// What BCL has to meet, if that is a figure of its own.
    pub fn of_mark(mark: &Mark) -> Option<Self> {
        match mark.reference {
            Reference::Value(value) => Some(Self {
                name: "mark",
                value,
                colour: LIMIT,
            }),
            _ => None,
        }
    }
}

/// Draws the bars of `work` into `area`.
pub fn draw<'a>(area: &Area<'a>, work: &Work, bars: &[Bar]) -> Outcome<'a> {
    let title = ("sans-serif", 13)
        .into_font()
        .style(FontStyle::Bold)
        .color(&BLACK);
    let small = ("sans-serif", 11).into_font().color(&BLACK);
    area.draw_text(work.title, &title, (MARGIN, MARGIN))?;
    area.draw_text(&subtitle(work), &small, (MARGIN, MARGIN + 15))?;

    let full_width = area.dim_in_pixel().0 as i32 - NAME_WIDTH - VALUE_WIDTH - 2 * MARGIN;
    let longest = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    for (row, bar) in (0..).zip(bars) {
        let top = MARGIN + TITLE_HEIGHT + row * ROW_HEIGHT;
        let left = MARGIN + NAME_WIDTH;
        let right = left + bar_width(bar.value, longest, full_width);
        let shape = Rectangle::new(
            [(left, top), (right, top + BAR_HEIGHT)],
            bar.colour.filled(),
        );
        area.draw(&shape)?;
        area.draw_text(bar.name, &small, (MARGIN, top + 1))?;
        area.draw_text(&figure::text(bar.value), &small, (right + 4, top + 1))?;
    }
    Ok(())
}

fn subtitle(work: &Work) -> String {
    let better = if work.less_is_better() {
        "less"
    } else {
        "more"
    };
    format!("{}, {better} is better", work.unit)
}

/// At least a pixel, so that the fastest is seen at all.
fn bar_width(value: f64, longest: f64, full_width: i32) -> i32 {
    if longest <= 0.0 {
        return 1;
    }
    ((value / longest * f64::from(full_width)) as i32).max(1)
}

#[test]
fn bars_are_as_long_as_their_figures_and_never_invisible() {
    assert_eq!(bar_width(50.0, 100.0, 200), 100);
    assert_eq!(bar_width(0.001, 100.0, 200), 1);
    assert_eq!(bar_width(0.0, 0.0, 200), 1);
}
