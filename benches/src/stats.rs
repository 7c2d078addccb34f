//! Medians and spans of figures.

/// The middle of `figures`, or between the two in the middle; none of none.
pub fn median(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(sorted[middle - 1], upper))
}

/// The lowest and the highest of `figures`; none of none.
pub fn span(figures: &[f64]) -> Option<(f64, f64)> {
    let lowest = figures.iter().copied().min_by(f64::total_cmp)?;
    let highest = figures.iter().copied().max_by(f64::total_cmp)?;
    Some((lowest, highest))
}

#[test]
fn the_median_stands_in_the_middle() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0]), Some(3.0));
    assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
}

#[test]
fn the_span_reaches_from_end_to_end() {
    assert_eq!(span(&[]), None);
    assert_eq!(span(&[2.0, -1.0, 5.0]), Some((-1.0, 5.0)));
}
