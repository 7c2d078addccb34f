//! What `bcl doctor --json` prints.

use std::process::Output;

use serde_json::Value;

use super::text;

/// What was found, by the name of the check.
pub struct Findings {
    pub status: Option<i32>,
    pub all: Vec<Value>,
}

impl Findings {
    pub fn of(output: &Output) -> Findings {
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(output)));
        Findings {
            status: output.status.code(),
            all: report["findings"].as_array().unwrap().clone(),
        }
    }

    /// Asserts the worst verdict of `check`, and a word that its text has.
    pub fn expect(&self, check: &str, verdict: &str, word: &str) {
        let mut of_check = self.all.iter().filter(|finding| finding["check"] == check);
        let fits = |finding: &Value| {
            finding["verdict"] == verdict && finding["text"].as_str().unwrap().contains(word)
        };
        assert!(
            of_check.any(fits),
            "no {verdict} of {check} with {word}: {:#?}",
            self.all
        );
        // Whatever is not well can be mended.
        let mended = |finding: &Value| finding["verdict"] == "ok" || finding["mend"].is_string();
        assert!(self.all.iter().all(mended), "{:#?}", self.all);
    }
}
