//! The numbered rules of `spec/`: each is stated once, code cites only rules that exist, and each
//! rule of `spec/semantics.md` has a test under `testing/` that names it.
//!
//! A rule is stated where its id stands in brackets at the start of a list item or a paragraph
//! (`- [SEM-3.1] ...`), and cited by its bare id. A heading (`## [SEM-3]`) gathers rules: it may be
//! cited, but has no test of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::assert_clean;
use crate::repository::{Source, sources};

/// How rule ids begin: semantics, shared memory, handshake, what travels between nodes, the interface program, node status,
/// the agent, reflective memory.
const FAMILIES: &[&str] = &[
    "SEM-", "SHM-", "HSK-", "WIRE-", "MCP-", "NODE-", "AGENT-", "REFLECT-",
];

/// Every rule id in `text`, stated or cited, with its line counted from 1.
fn ids(text: &str) -> Vec<(usize, &str)> {
    text.lines()
        .enumerate()
        .flat_map(|(index, line)| ids_in_line(line).into_iter().map(move |id| (index + 1, id)))
        .collect()
}

fn ids_in_line(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for family in FAMILIES {
        for (at, _) in line.match_indices(family) {
            let inside_word = line[..at].ends_with(|c: char| c.is_alphanumeric());
            let number = number_len(&line[at + family.len()..]);
            if !inside_word && number > 0 {
                found.push(&line[at..at + family.len() + number]);
            }
        }
    }
    found
}

/// The length of a `1.2` at the start of `text`; a full stop that ends a sentence is not part of it.
fn number_len(text: &str) -> usize {
    let run = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    text[..run].trim_end_matches('.').len()
}

/// The rules that a document of `spec/` states, each with its line.
fn stated(text: &str) -> Vec<(usize, &str)> {
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let line = line.trim_start_matches(['#', '-', '*', ' ']);
            let (inside, _) = line.strip_prefix('[')?.split_once(']')?;
            (ids_in_line(inside) == [inside]).then_some((index + 1, inside))
        })
        .collect()
}

/// `SEM-3` names a section, `SEM-3.1` a rule.
fn is_section(id: &str) -> bool {
    !id.contains('.')
}

fn is_spec(source: &Source) -> bool {
    source.path.starts_with("spec/") && source.path.ends_with(".md")
}

/// A test is any source under `testing/` but the house rules, whose own tests name rules that are
/// not meant.
fn is_test(source: &Source) -> bool {
    source.path.starts_with("testing/") && !is_tidy(source) && !source.path.ends_with(".md")
}

fn is_tidy(source: &Source) -> bool {
    source.path.starts_with("testing/tests/tidy/")
}

fn all_sources() -> Vec<Source> {
    sources(&["md", "rs", "c", "cpp", "h", "sh"])
}

#[test]
fn each_rule_is_stated_once() {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    let mut findings = Vec::new();
    for source in all_sources().iter().filter(|source| is_spec(source)) {
        for (line, id) in stated(&source.text) {
            let place = format!("{}:{line}", source.path);
            if let Some(other) = first.insert(id.to_owned(), place.clone()) {
                findings.push(format!("{id} at {other} and again at {place}"));
            }
        }
    }
    assert_clean("rules stated twice", &findings);
}

#[test]
fn cited_rules_exist() {
    let all = all_sources();
    let known: BTreeSet<&str> = all
        .iter()
        .filter(|source| is_spec(source))
        .flat_map(|source| stated(&source.text))
        .map(|(_, id)| id)
        .collect();
    let mut findings = Vec::new();
    for source in all.iter().filter(|source| !is_tidy(source)) {
        for (line, id) in ids(&source.text) {
            if !known.contains(id) {
                findings.push(format!("{}:{line}: {id}", source.path));
            }
        }
    }
    assert_clean("rules cited that no document of spec/ states", &findings);
}

/// Prints which tests name which rule: `make rules` shows it.
#[test]
fn each_rule_of_the_semantics_has_a_test() {
    let all = all_sources();
    let semantics = all
        .iter()
        .find(|source| source.path == "spec/semantics.md")
        .expect("spec/semantics.md states the rules");
    let mut findings = Vec::new();
    for (line, id) in stated(&semantics.text) {
        if is_section(id) {
            continue;
        }
        let tests = naming(id, &all);
        println!("{id:<10} {}", tests.join(", "));
        if tests.is_empty() {
            findings.push(format!("{id} (spec/semantics.md:{line})"));
        }
    }
    assert_clean(
        "rules of spec/semantics.md that no test names (write the rule's id beside its test under testing/)",
        &findings,
    );
}

/// The tests that name `rule`.
fn naming<'a>(rule: &str, sources: &'a [Source]) -> Vec<&'a str> {
    sources
        .iter()
        .filter(|source| is_test(source) && ids(&source.text).iter().any(|(_, id)| *id == rule))
        .map(|source| source.path.as_str())
        .collect()
}

#[test]
fn ids_are_found_whole() {
    let found = |text| ids(text).into_iter().map(|(_, id)| id).collect::<Vec<_>>();
    assert_eq!(
        found("by SEM-1.2. And SHM-10, (HSK-3.4) [WIRE-2.10]"),
        ["SEM-1.2", "SHM-10", "HSK-3.4", "WIRE-2.10"]
    );
    assert!(found("XSEM-1.2, SEM-x, sem-1").is_empty());
}

#[test]
fn only_an_id_that_opens_a_line_states_a_rule() {
    let found = |text| {
        stated(text)
            .into_iter()
            .map(|(_, id)| id)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found("- [SEM-1.1] A port\n### [SEM-2]\n**[SHM-3.1]** x"),
        ["SEM-1.1", "SEM-2", "SHM-3.1"]
    );
    assert!(is_section("SEM-2") && !is_section("SEM-2.1"));
    assert!(found("as in [SEM-1.1]\n- SEM-1.1 again\n[see SEM-1.1] x").is_empty());
}

#[test]
fn a_rule_without_a_test_is_found() {
    let source = |path: &str, text: &str| Source {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let sources = [
        source("testing/tests/ports.rs", "// SEM-1.1"),
        source("crates/face/bcl/src/lib.rs", "// SEM-1.2"),
        source("testing/tests/tidy/rules.rs", "// SEM-1.2"),
    ];
    assert_eq!(naming("SEM-1.1", &sources), ["testing/tests/ports.rs"]);
    assert!(naming("SEM-1.2", &sources).is_empty());
    assert!(naming("SEM-1", &sources).is_empty());
}
