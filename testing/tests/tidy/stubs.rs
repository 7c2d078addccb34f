//! Nothing half done on main: no stub, no debugging aid, no test that does not run.

use crate::code::code_only;
use crate::{assert_clean, repository};

const FORBIDDEN: &[&str] = &["todo!", "unimplemented!", "dbg!", "#[ignore"];

/// What `text` holds of the forbidden, with its line counted from 1.
fn stubs(text: &str) -> Vec<(usize, &'static str)> {
    code_only(text)
        .lines()
        .enumerate()
        .flat_map(|(index, line)| {
            FORBIDDEN
                .iter()
                .filter(move |stub| line.contains(**stub))
                .map(move |stub| (index + 1, *stub))
        })
        .collect()
}

#[test]
fn nothing_is_left_half_done() {
    let mut findings = Vec::new();
    for source in repository::sources(&["rs"]) {
        for (line, stub) in stubs(&source.text) {
            findings.push(format!("{}:{line}: {stub}", source.path));
        }
    }
    assert_clean("stubs, debugging aids or ignored tests", &findings);
}

#[test]
fn a_stub_is_found() {
    assert_eq!(stubs("fn a() {\n    todo!()\n}"), [(2, "todo!")]);
    assert_eq!(stubs("#[ignore = \"slow\"]"), [(1, "#[ignore")]);
    assert!(stubs("// todo!\nlet s = \"dbg!\";").is_empty());
}
