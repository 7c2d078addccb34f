//! Each unsafe block and implementation says why it is sound.
//!
//! clippy's `undocumented_unsafe_blocks` checks the same more closely, but not inside macros and not
//! where clippy is not installed.

use crate::code::code_only;
use crate::{assert_clean, repository};

/// How far above its block a reason may stand: a comment of several lines and a wrapped statement.
const REACH_LINES: usize = 10;

/// The lines of `text`, counted from 1, that open an unsafe block or implementation without a reason.
fn unreasoned(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    code_only(text)
        .lines()
        .enumerate()
        .filter(|(_, code)| code.contains("unsafe {") || code.contains("unsafe impl"))
        .filter(|(index, _)| {
            let first = index.saturating_sub(REACH_LINES);
            !lines[first..=*index]
                .iter()
                .any(|line| line.contains("SAFETY:"))
        })
        .map(|(index, _)| index + 1)
        .collect()
}

#[test]
fn unsafe_code_says_why_it_is_sound() {
    let mut findings = Vec::new();
    for source in repository::sources(&["rs"]) {
        for line in unreasoned(&source.text) {
            findings.push(format!("{}:{line}", source.path));
        }
    }
    assert_clean("unsafe without a `// SAFETY:` comment above it", &findings);
}

#[test]
fn a_missing_reason_is_found() {
    assert_eq!(unreasoned("let a = unsafe { b() };"), [1]);
    assert_eq!(unreasoned("\nunsafe impl Send for A {}"), [2]);
    assert!(unreasoned("// SAFETY: b has no conditions.\nlet a = unsafe { b() };").is_empty());
    assert!(unreasoned("// an unsafe { block } is only spoken of\nunsafe fn a();").is_empty());
}
