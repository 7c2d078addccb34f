//! Where job keys come from.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use bcl_node::{JobKey, KeyError};
use proptest::prelude::*;
use tempfile::TempDir;

fn key_file(content: &str, mode: u32) -> (TempDir, PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("key");
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    (temporary, path)
}

fn hex() -> String {
    "0123456789abcdef".repeat(4)
}

#[test]
fn a_private_file_is_read() {
    let (_temporary, path) = key_file(&format!("{}\n", hex()), 0o600);
    assert_eq!(JobKey::from_file(&path).unwrap().to_hex(), hex());
    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    assert!(JobKey::from_file(&path).is_ok());
}

#[test]
fn a_file_that_others_can_read_is_refused_with_a_way_out() {
    for mode in [0o640, 0o604, 0o644, 0o620] {
        let (_temporary, path) = key_file(&hex(), mode);
        let error = JobKey::from_file(&path).unwrap_err();
        assert!(matches!(error, KeyError::Exposed { .. }), "{mode:o}");
        assert!(error.to_string().contains("chmod 600"));
    }
}

#[test]
fn a_strangers_file_is_refused() {
    let (_temporary, path) = key_file(&hex(), 0o600);
    if !rustix::process::geteuid().is_root() {
        return; // Only root can make a stranger's file.
    }
    chown(&path, Some(12345), None).unwrap();
    assert!(matches!(
        JobKey::from_file(&path),
        Err(KeyError::Foreign { owner: 12345, .. })
    ));
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let temporary = tempfile::tempdir().unwrap();
    let pipe = temporary.path().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for path in [temporary.path(), &pipe] {
        assert!(matches!(
            JobKey::from_file(path),
            Err(KeyError::NotAFile { .. })
        ));
    }
    let missing = temporary.path().join("missing");
    assert!(matches!(
        JobKey::from_file(&missing),
        Err(KeyError::Unreadable { .. })
    ));
}

#[test]
fn a_file_without_a_key_is_refused() {
    let (_temporary, path) = key_file("password\n", 0o600);
    let text = JobKey::from_file(&path).unwrap_err().to_string();
    assert!(
        text.contains("hexadecimal") && !text.contains("password"),
        "{text}"
    );
    assert!(JobKey::from_file(Path::new("/dev/zero")).is_err());
}

#[test]
fn the_number_of_digits_is_checked() {
    for count in [0, 30, 31, 33, 63, 127, 129, 130] {
        assert!(JobKey::from_hex(&"a".repeat(count)).is_err(), "{count}");
    }
    for count in [32, 34, 64, 128] {
        assert!(JobKey::from_hex(&"a".repeat(count)).is_ok(), "{count}");
    }
    assert!(JobKey::from_hex(&"g".repeat(64)).is_err());
}

#[test]
fn keys_of_different_length_differ() {
    let short = JobKey::from_hex(&"00".repeat(16)).unwrap();
    let long = JobKey::from_hex(&"00".repeat(17)).unwrap();
    assert_ne!(short.to_hex(), long.to_hex());
}

#[test]
fn users_and_random_keys_differ() {
    assert_ne!(JobKey::of_user(0).to_hex(), JobKey::of_user(1).to_hex());
    assert_ne!(
        JobKey::random().unwrap().to_hex(),
        JobKey::random().unwrap().to_hex()
    );
}

#[test]
fn a_key_is_not_printed() {
    let key = JobKey::from_hex(&hex()).unwrap();
    assert!(!format!("{key:?}").contains("0123"));
}

proptest! {
    #[test]
    fn any_text_is_a_key_or_refused(text in "[0-9a-fA-F\\PC]{0,140}") {
        if let Ok(key) = JobKey::from_hex(&text) {
            prop_assert_eq!(JobKey::from_hex(&key.to_hex()).unwrap().to_hex(), key.to_hex());
        }
    }
}
