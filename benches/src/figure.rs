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

/// A length in bytes, as short as it can be said.
pub fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

#[test]
fn sizes_are_said_in_their_largest_whole_unit() {
    let said = [8, 1000, 1024, 65536, 1 << 20, (1 << 20) + 1].map(size);
    assert_eq!(
        said,
        ["8 B", "1000 B", "1 KiB", "64 KiB", "1 MiB", "1048577 B"]
    );
}

#[test]
fn digits_follow_the_size() {
    let written = [0.0, 0.2166, 9.5, 42.42, 14487.92].map(text);
    assert_eq!(written, ["0", "0.217", "9.500", "42.4", "14488"]);
}
