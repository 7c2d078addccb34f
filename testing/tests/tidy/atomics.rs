//! Atomics come from `bcl_os::sync`, where loom can stand in for them, not from the standard library.

use crate::assert_clean;
use crate::code::code_only;
use crate::repository::{self, Source};

const HOME: &str = "crates/base/os/";

/// Only what ships: a test may count in whatever way it likes.
const SHIPPED: &[&str] = &["clients/", "crates/", "middle/", "tools/"];

/// Who else may use the standard library's atomics, and why.
const ALLOWED: &[(&str, &str)] = &[
    (
        "crates/tiers/contract/src/window.rs",
        "acts on words of a user's memory by address, which loom's atomics cannot; it orders nothing of ours",
    ),
    (
        "crates/face/bcl/src/window.rs",
        "the owner's side of the same words",
    ),
    (
        "middle/adi/src/atomics/cell.rs",
        "acts on a user's memory by address, too",
    ),
];

/// The lines of `text` that use the standard library's atomics, counted from 1.
fn atomics(text: &str) -> Vec<usize> {
    code_only(text)
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("sync::atomic") || line.contains("atomic::"))
        .map(|(index, _)| index + 1)
        .collect()
}

fn is_allowed(path: &str) -> bool {
    path.starts_with(HOME)
        || !SHIPPED.iter().any(|folder| path.starts_with(folder))
        || ALLOWED.iter().any(|(allowed, _)| path == *allowed)
}

fn findings(sources: &[Source]) -> Vec<String> {
    sources
        .iter()
        .filter(|source| !is_allowed(&source.path))
        .flat_map(|source| {
            atomics(&source.text)
                .into_iter()
                .map(|line| format!("{}:{line}", source.path))
        })
        .collect()
}

#[test]
fn atomics_stay_at_home() {
    assert_clean(
        "atomics outside crates/base/os (take them from bcl_os::sync, or add the file to ALLOWED with a reason)",
        &findings(&repository::sources(&["rs"])),
    );
}

#[test]
fn the_allow_list_names_files_that_need_it() {
    let sources = repository::sources(&["rs"]);
    for (path, reason) in ALLOWED {
        let used = sources
            .iter()
            .any(|source| source.path == *path && !atomics(&source.text).is_empty());
        assert!(
            used,
            "{path} needs no atomics any more: take it off the list ({reason})"
        );
    }
}

#[test]
fn an_atomic_is_found_however_it_is_named() {
    assert_eq!(atomics("use std::sync::atomic::Ordering;"), [1]);
    assert_eq!(atomics("\nuse std::sync::{Arc, atomic::AtomicU64};"), [2]);
    assert_eq!(atomics("core::sync::atomic::fence(o);"), [1]);
    assert!(atomics("// std::sync::atomic\nuse bcl_os::sync::AtomicBool;").is_empty());
}

#[test]
fn an_atomic_is_found_only_in_what_ships() {
    let source = |path: &str| Source {
        path: path.to_owned(),
        text: "use std::sync::atomic::AtomicU64;".to_owned(),
    };
    let sources = [
        "crates/face/bcl/src/a.rs",
        "crates/base/os/src/sync.rs",
        "testing/tests/a.rs",
    ]
    .map(source);
    assert_eq!(findings(&sources), ["crates/face/bcl/src/a.rs:1"]);
}
