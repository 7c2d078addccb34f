//! Atomics live in `crates/shm`, where loom can stand in for them and one reader can check them all.

use crate::code::{code_only, words};
use crate::{assert_clean, repository};

const HOME: &str = "crates/shm/";

/// Who else may name an atomic, and why no loom model is missing there.
const ALLOWED: &[(&str, &str)] = &[];

/// The lines of `text` that name an atomic, counted from 1.
fn atomics(text: &str) -> Vec<usize> {
    code_only(text)
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("sync::atomic") || words(line).any(is_atomic_type))
        .map(|(index, _)| index + 1)
        .collect()
}

fn is_atomic_type(word: &str) -> bool {
    word.strip_prefix("Atomic")
        .is_some_and(|kind| kind.starts_with(['U', 'I']) || matches!(kind, "Bool" | "Ptr"))
}

#[test]
fn atomics_stay_at_home() {
    let findings: Vec<String> = repository::sources(&["rs"])
        .iter()
        .filter(|source| !source.path.starts_with(HOME))
        .filter(|source| !ALLOWED.iter().any(|(path, _)| source.path == *path))
        .filter_map(|source| {
            let line = *atomics(&source.text).first()?;
            Some(format!("{}:{line}", source.path))
        })
        .collect();
    assert_clean(
        "atomics outside crates/shm (move them there, or add the file to ALLOWED with a reason)",
        &findings,
    );
}

#[test]
fn the_allow_list_names_files_that_need_it() {
    let sources = repository::sources(&["rs"]);
    for (path, reason) in ALLOWED {
        let used = sources
            .iter()
            .any(|s| s.path == *path && !atomics(&s.text).is_empty());
        assert!(
            used,
            "{path} needs no atomics any more: take it off the list ({reason})"
        );
    }
}

#[test]
fn an_atomic_is_found_however_it_is_named() {
    assert_eq!(atomics("use std::sync::atomic::Ordering;"), [1]);
    assert_eq!(
        atomics("\nuse std::sync::{Arc, atomic};\nstatic A: AtomicU64 = x;"),
        [3]
    );
    assert_eq!(atomics("core::sync::atomic::fence(o);"), [1]);
    assert!(atomics("// AtomicBool\nlet a = Access::ATOMIC | \"AtomicU8\"; Atomicity").is_empty());
}
