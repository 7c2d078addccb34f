//! Reading what `ip` and `tc` print.

use std::io::{Error, Result};

use bcl_netns::run;

/// The number that follows `mark` in what `ip` or `tc` printed.
pub(super) fn number_after(text: &str, mark: &str) -> Option<u32> {
    let rest = &text[text.find(mark)? + mark.len()..];
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

/// The number of an interface.
///
/// # Errors
/// When the namespace has none of that name.
pub(super) fn index_of(namespace: &str, interface: &str) -> Result<u32> {
    let shown = run(&format!("ip -n {namespace} -o link show dev {interface}"))?;
    number_after(&shown, "")
        .ok_or_else(|| Error::other(format!("no index of {interface} in '{shown}'")))
}

#[test]
fn numbers_are_found() {
    let line = "direct-action not_in_hw id 107 name pass tag 39f5 jited";
    assert_eq!(number_after(line, " id "), Some(107));
    assert_eq!(number_after(line, " map "), None);
}
