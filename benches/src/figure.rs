//! Figures as readers like them.

/// `value` with three or four digits that mean something.
pub fn text(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        size if size < 10.0 => 3,
        size if size < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}

#[test]
fn digits_follow_the_size() {
    let written = [0.0, 0.2166, 9.5, 42.42, 14487.92].map(text);
    assert_eq!(written, ["0", "0.217", "9.500", "42.4", "14488"]);
}
