//! The compiled injector.

use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{env, fs, process};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bpf/faults.bpf.c");

/// Compiles it once a process, to a place beside the program.
///
/// # Errors
/// Says what clang says. It is missing where nobody has asked for it: `scripts/bootstrap.sh test` installs it.
pub(super) fn path() -> Result<PathBuf> {
    static DONE: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &*done {
        return Ok(path.clone());
    }
    let path = env::current_exe()?.with_file_name("faults.bpf.o");
    compile(&path)?;
    Ok(done.insert(path).clone())
}

/// Other processes may be compiling and loading the same: a file that is there is whole.
fn compile(path: &Path) -> Result<()> {
    let unfinished = path.with_extension(process::id().to_string());
    let multiarch = format!("-I/usr/include/{}-linux-gnu", env::consts::ARCH);
    let output = Command::new("clang")
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror"])
        .args(["-target", "bpf", "-mcpu=v3", &multiarch, "-c", SOURCE, "-o"])
        .arg(&unfinished)
        .output()
        .map_err(|error| Error::new(error.kind(), format!("clang: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::other(format!("clang {SOURCE}: {said}")));
    }
    fs::rename(&unfinished, path)
}
