//! `bcld` as it is called.

use std::process::{Command, Output};

fn bcld(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bcld"));
    command.args(words).output().expect("bcld starts")
}

#[test]
fn the_manual_describes_the_options_that_help_names() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("man8");
    let written = bcld(&["man", place.to_str().unwrap()]);
    assert!(written.status.success(), "{written:?}");
    let manual = std::fs::read_to_string(place.join("bcld.8")).unwrap();
    let manual = manual.replace("\\-", "-");
    let help = String::from_utf8(bcld(&["--help"]).stdout).unwrap();
    let options = help
        .split_whitespace()
        .filter(|word| word.starts_with("--"));
    let names = options.map(|option| option.split(['=', '`', ',', ';']).next().unwrap());
    let names: Vec<&str> = names
        .map(|name| name.trim_end_matches(['.', ')']))
        .collect();
    assert!(names.contains(&"--interface") && names.contains(&"--mode"));
    for name in names {
        assert!(manual.contains(name), "{name} is not in the manual");
    }
}

#[test]
fn what_it_does_not_know_is_refused_with_status_2() {
    for words in [&["--mode", "fast"][..], &["--no-such-option"], &["dance"]] {
        let output = bcld(words);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("--help"));
    }
}
