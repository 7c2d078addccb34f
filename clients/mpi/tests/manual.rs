//! The manual page fi_bcl(7) says what is so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bcl_fi::getinfo::limits::{INJECT_SIZE, IOV_LIMIT, LONG_INJECT_SIZE, RX_SIZE, TX_SIZE};
use bcl_fi::settings::CQ_SIZE_MAX;

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn page() -> String {
    fs::read_to_string(own("man/fi_bcl.7")).unwrap()
}

fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, text),
            false => text.push_str(&fs::read_to_string(&path).unwrap()),
        }
    }
}

/// Names of variables that begin so.
fn names(text: &str, beginning: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(|c| !is_part(c));
    let names = words.filter(|word| word.len() > beginning.len() && word.starts_with(beginning));
    names.map(str::to_owned).collect()
}

#[test]
fn each_setting_stands_in_the_page_and_nothing_else_does() {
    let mut text = String::new();
    sources(&own("src"), &mut text);
    let read = names(&text, "FI_BCL_");
    assert!(read.contains("FI_BCL_CQ_SIZE"));
    assert_eq!(names(&page(), "FI_BCL_"), read);
}

#[test]
fn settings_of_bcl_are_those_of_the_readme() {
    let readme = fs::read_to_string(own("../../README.md")).unwrap();
    let (known, told) = (names(&readme, "BCL_"), names(&page(), "BCL_"));
    assert!(told.len() > 5 && told.is_subset(&known), "{told:?}");
}

#[test]
fn sizes_are_those_of_the_code() {
    let page = page();
    for said in [
        format!("up to {INJECT_SIZE} bytes"),
        format!("up to {LONG_INJECT_SIZE} bytes"),
        format!("up to {IOV_LIMIT} pieces of memory"),
        format!("{TX_SIZE} sends and {RX_SIZE} receives"),
        format!("1 to {CQ_SIZE_MAX}."),
    ] {
        assert!(page.contains(&said), "the page does not say '{said}'");
    }
}
