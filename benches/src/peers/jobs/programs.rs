//! The programs that jobs run, compiled with the wrapper of each library when they are first asked for.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::effort;
use crate::error::{Error, Result};
use crate::peers::jobs::with::of_harness;
use crate::peers::program;

const BENCH: &str = "bench";

/// Those that are there.
pub struct Programs {
    libraries: PathBuf,
    folder: PathBuf,
    made: RefCell<HashMap<(&'static str, &'static str), PathBuf>>,
}

impl Programs {
    /// None yet; they will be in `folder`.
    pub fn new(libraries: &Path, folder: &Path) -> Self {
        Self {
            libraries: libraries.to_owned(),
            folder: folder.to_owned(),
            made: RefCell::default(),
        }
    }

    /// The program of the benchmark.
    ///
    /// # Errors
    /// When the library is not installed, or its compiler fails.
    pub fn of_bench(&self, library: &'static str) -> Result<PathBuf> {
        self.get(library, BENCH, |compiler, path| {
            program::compile(compiler, path, "gcc")
        })
    }

    /// One of testing/mpi/programs.
    ///
    /// # Errors
    /// When the library is not installed, or its compiler fails.
    pub fn of_tests(&self, library: &'static str, name: &'static str) -> Result<PathBuf> {
        let source = of_harness("programs").join(name).with_extension("c");
        self.get(library, name, |compiler, path| {
            compiler
                .args(["-std=gnu11", "-O2", "-o"])
                .arg(path)
                .arg(source);
            command::run(compiler, "gcc", effort::LIMIT).map(drop)
        })
    }

    fn get(
        &self,
        library: &'static str,
        name: &'static str,
        make: impl FnOnce(&mut Command, &Path) -> Result<()>,
    ) -> Result<PathBuf> {
        if let Some(path) = self.made.borrow().get(&(library, name)) {
            return Ok(path.clone());
        }
        let compiler = self.libraries.join(library).join("bin/mpicc");
        if !compiler.is_file() {
            return Err(Error::Absent {
                path: compiler,
                hint: "make bench-mpi installs it, or testing/mpi/install FOLDER",
            });
        }
        let path = self.folder.join(format!("{library}-{name}"));
        make(&mut Command::new(compiler), &path)?;
        self.made.borrow_mut().insert((library, name), path.clone());
        Ok(path)
    }
}
