//! The files of this repository, as the house rules see them.

use std::fs;
use std::path::{Path, PathBuf};

/// One text file, its path relative to the root of the repository.
pub struct Source {
    pub path: String,
    pub text: String,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("testing/ lies in the root")
        .to_owned()
}

/// Every file whose name ends in one of `extensions`, in the order of their paths.
///
/// It walks folders rather than asking git, so that it also holds in an unpacked archive.
pub fn sources(extensions: &[&str]) -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository can be listed") {
            let path = entry
                .expect("a folder of the repository can be listed")
                .path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                let built_or_hidden = name == "target" || name.starts_with('.');
                if !built_or_hidden {
                    folders.push(path);
                }
            } else if extensions
                .iter()
                .any(|wanted| path.extension().is_some_and(|e| e == *wanted))
            {
                found.push(Source {
                    path: path
                        .strip_prefix(&root)
                        .unwrap_or(&path)
                        .display()
                        .to_string(),
                    text: fs::read_to_string(&path).expect("a source file is readable text"),
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

#[test]
fn finds_this_file_and_nothing_that_was_built() {
    let sources = sources(&["rs"]);
    assert!(
        sources
            .iter()
            .any(|s| s.path == "testing/tests/tidy/repository.rs")
    );
    assert!(!sources.iter().any(|s| s.path.contains("target/")));
}
