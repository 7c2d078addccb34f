//! The probes of the design brief, when the brief lies beside this repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::effort::LIMIT;
use crate::error::{Error, Result};

/// The folder of the brief, if it is not `../shared` of this repository.
const SHARED_VARIABLE: &str = "BCL_SHARED";

/// Compiles the probe `name` into `folder`.
///
/// # Errors
/// [`Error::Absent`] when the brief is not there.
pub fn compile(name: &str, folder: &Path) -> Result<PathBuf> {
    let source = shared_folder().join(format!("probes/{name}.c"));
    if !source.exists() {
        return Err(Error::Absent {
            path: source,
            hint: "set BCL_SHARED to the folder of the design brief",
        });
    }
    compile_file(&source, &folder.join(name))
}

/// Compiles one file to `path`.
///
/// # Errors
/// When the compiler is missing or fails.
pub fn compile_file(source: &Path, path: &Path) -> Result<PathBuf> {
    let mut compiler = Command::new("gcc");
    compiler.arg("-O2").arg("-o").arg(path).arg(source);
    compiler.arg("-lpthread");
    command::run(&mut compiler, "gcc", LIMIT)?;
    Ok(path.to_owned())
}

fn shared_folder() -> PathBuf {
    std::env::var_os(SHARED_VARIABLE).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    )
}
