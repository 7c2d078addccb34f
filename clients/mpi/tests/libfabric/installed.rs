//! Where a program finds the provider.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder with the provider in it, as `FI_PROVIDER_PATH` has it.
pub struct Installed {
    folder: TempDir,
}

/// The library that cargo has built beside this test.
pub fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let library = test.parent().unwrap().join("libbcl_fi.so");
    assert!(
        library.exists(),
        "{} is what cargo makes of this package",
        library.display()
    );
    library
}

impl Installed {
    /// With the provider that was built.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(library(), folder.path().join("libbcl-fi.so")).unwrap();
        Self { folder }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a program that finds it.
    pub fn run(
        &self,
        program: impl AsRef<Path>,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Output {
        let output = Command::new(program.as_ref())
            .args(arguments)
            .env("FI_PROVIDER_PATH", self.folder.path())
            .env("BCL_DIR", self.folder.path().join("ports"))
            .env_remove("FI_PROVIDER")
            .env_remove("FI_LOG_LEVEL")
            .envs(environment.iter().copied())
            .output();
        output.unwrap_or_else(|error| {
            panic!(
                "{} does not start (Debian: libfabric-bin): {error}",
                program.as_ref().display()
            )
        })
    }

    /// Builds a program of this folder and runs it.
    pub fn run_source(&self, name: &str, environment: &[(&str, &str)]) -> Output {
        self.run(self.build(name), &[], environment)
    }

    /// Builds a program of this folder.
    pub fn build(&self, name: &str) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/c")
            .join(name);
        let program = self.folder.path().join("program");
        let compiled = Command::new("cc")
            .args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"])
            .arg(&source)
            .arg("-o")
            .arg(&program)
            // Only where a program uses it: the one that loads it for itself does not.
            .args(["-Wl,--as-needed", "-lfabric"])
            .output()
            .unwrap();
        let said = text(&compiled.stderr);
        assert!(
            compiled.status.success(),
            "{said}is libfabric there (Debian: libfabric-dev)?"
        );
        program
    }
}

/// What a program has said.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
