//! The MPI side of the benchmark: one program of several files, which says itself what it takes and prints.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::effort::LIMIT;
use crate::error::{Result, system};

/// Has `compiler`, an `mpicc` of `package`, make it at `path`.
///
/// # Errors
/// When the compiler is missing or fails.
pub fn compile(compiler: &mut Command, path: &Path, package: &'static str) -> Result<()> {
    compiler.arg("-O2").arg("-o").arg(path).args(sources()?);
    command::run(compiler, package, LIMIT).map(drop)
}

fn sources() -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/mpi");
    let read = || system("read", folder.display());
    let mut sources = Vec::new();
    for entry in fs::read_dir(&folder).map_err(read())? {
        let path = entry.map_err(read())?.path();
        if path.extension().is_some_and(|extension| extension == "c") {
            sources.push(path);
        }
    }
    Ok(sources)
}
