//! Texts that are kept beside the tests: virtual time makes them exact, and a reviewer sees them change.

use std::path::Path;

/// The kept text of that name has to be this one, which takes its place if `UPDATE_SNAPSHOT` is set.
pub fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name);
    if std::env::var_os("UPDATE_SNAPSHOT").is_some() {
        std::fs::write(&path, text).expect("the snapshot can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{} says\n{kept}\nbut it is\n{text}",
        path.display()
    );
}
