//! One idea a file: a file that has grown past the limit holds two.

use crate::{assert_clean, repository};

const MAX_LINES: usize = 800;

fn too_long(text: &str) -> bool {
    text.lines().count() > MAX_LINES
}

#[test]
fn files_hold_one_idea() {
    let findings: Vec<String> = repository::sources(&["rs", "c", "cpp", "h", "sh", "py"])
        .iter()
        .filter(|source| too_long(&source.text))
        .map(|source| format!("{}: {} lines", source.path, source.text.lines().count()))
        .collect();
    assert_clean("files longer than 800 lines", &findings);
}

#[test]
fn a_long_file_is_found() {
    assert!(!too_long(&"x\n".repeat(MAX_LINES)));
    assert!(too_long(&"x\n".repeat(MAX_LINES + 1)));
}
