//! What the doctor has found.

use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Ok,
    /// It works, but not as well as it could, or not for everybody.
    Warning,
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// A stable name of what was looked at.
    pub check: &'static str,
    pub verdict: Verdict,
    /// What is so, and why it matters.
    pub text: String,
    /// The command that mends it.
    pub mend: Option<String>,
}

pub fn ok(check: &'static str, text: impl Into<String>) -> Finding {
    Finding {
        check,
        verdict: Verdict::Ok,
        text: text.into(),
        mend: None,
    }
}

pub fn warning(check: &'static str, text: impl Into<String>, mend: impl Into<String>) -> Finding {
    Finding {
        verdict: Verdict::Warning,
        mend: Some(mend.into()),
        ..ok(check, text)
    }
}

pub fn problem(check: &'static str, text: impl Into<String>, mend: impl Into<String>) -> Finding {
    Finding {
        verdict: Verdict::Problem,
        mend: Some(mend.into()),
        ..ok(check, text)
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verdict = match self.verdict {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Problem => "problem",
        };
        let check = self.check.replace('_', " ");
        write!(f, "{verdict:<8} {check:<16} {}", self.text)?;
        match &self.mend {
            Some(mend) => write!(f, "\n{:26}mend: {mend}", ""),
            None => Ok(()),
        }
    }
}
