//! Refusals for people: what, why, and what to do ([AGENT-2.3]).

use std::io;

use bcl_agent_messages::{Code, Failure};

use crate::tables::TableError;

/// So that no text that a program had us repeat makes an answer too long.
const WHY_MAX_BYTES: usize = 1000;

/// A refusal, whose reason is cut to what an answer has room for.
pub(crate) fn failure(
    code: Code,
    what: impl Into<String>,
    why: impl ToString,
    remedy: impl Into<String>,
) -> Failure {
    Failure {
        code,
        what: what.into(),
        why: shortened(why.to_string()),
        remedy: remedy.into(),
    }
}

/// What the tables or the kernel have refused.
pub(crate) fn of_tables(what: impl Into<String>, error: &TableError) -> Failure {
    let (code, remedy) = match error {
        TableError::Full(_) => (
            Code::NoRoom,
            "close ports or connections that are not needed",
        ),
        TableError::NoMemory(_) => (
            Code::NoRoom,
            "free memory, ask for less, or raise the memory limit of bcld's control group",
        ),
        TableError::System { .. } => (Code::System, "`bcld check` looks for the cause"),
    };
    failure(code, what, error, remedy)
}

/// What else the system has refused.
pub(crate) fn system(what: impl Into<String>, error: &io::Error) -> Failure {
    let remedy = "`bcld check` looks for the cause";
    failure(Code::System, what, error, remedy)
}

fn shortened(mut text: String) -> String {
    if text.len() > WHY_MAX_BYTES {
        let end = (0..=WHY_MAX_BYTES).rfind(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
        text.push_str(" ...");
    }
    text
}

#[test]
fn long_texts_are_cut_between_characters() {
    let cut = shortened("é".repeat(WHY_MAX_BYTES));
    assert_eq!(cut.len(), WHY_MAX_BYTES + " ...".len());
    assert_eq!(shortened("short".into()), "short");
}
