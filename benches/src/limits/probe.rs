//! The probe of the design brief, `limits.c`, when the brief lies beside this repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::effort::LIMIT;
use crate::error::{Error, Result};

/// The folder of the brief, if it is not `../shared` of this repository.
const SHARED_VARIABLE: &str = "BCL_SHARED";
const LINE_BEGINNING: &str = "cacheline one-way ";

/// The compiled probe.
pub struct Probe(PathBuf);

impl Probe {
    /// Compiles the probe into `folder`.
    ///
    /// # Errors
    /// [`Error::Absent`] when the brief is not there; our own measurement stands in for it.
    pub fn build(folder: &Path) -> Result<Self> {
        let source = shared_folder().join("probes/limits.c");
        if !source.exists() {
            return Err(Error::Absent {
                path: source,
                hint: "set BCL_SHARED to the folder of the design brief; our own measurement of \
                       the same limit stands in for it",
            });
        }
        let path = folder.join("limits");
        let mut compiler = Command::new("gcc");
        compiler.arg("-O2").arg("-o").arg(&path).arg(source);
        compiler.arg("-lpthread");
        command::run(&mut compiler, "gcc", LIMIT)?;
        Ok(Self(path))
    }

    /// One-way time of a cache line in us. The probe pins itself to cores 0 and 1.
    ///
    /// # Errors
    /// When it fails or prints something new.
    pub fn cache_line_us(&self) -> Result<f64> {
        let mut command = Command::new(&self.0);
        let output = command::run(&mut command, "gcc", LIMIT)?;
        cache_line_us(&output).ok_or_else(|| Error::Unreadable {
            command: command::describe(&command),
            output,
        })
    }
}

fn shared_folder() -> PathBuf {
    std::env::var_os(SHARED_VARIABLE).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    )
}

fn cache_line_us(output: &str) -> Option<f64> {
    let line = output
        .lines()
        .find_map(|line| line.strip_prefix(LINE_BEGINNING))?;
    let ns: f64 = line.strip_suffix(" ns")?.parse().ok()?;
    Some(ns / 1e3)
}

#[test]
fn the_probe_s_output_is_read() {
    let output = "cacheline one-way 216.6 ns\nmemcpy 256M 9085 MB/s\n";
    assert_eq!(cache_line_us(output), Some(0.2166));
    assert_eq!(cache_line_us("memcpy 256M 9085 MB/s\n"), None);
}
