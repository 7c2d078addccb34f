//! The cache line's probe of the design brief, `limits.c`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::effort::LIMIT;
use crate::error::{Error, Result};
use crate::limits::brief;

const LINE_BEGINNING: &str = "cacheline one-way ";

/// The compiled probe.
pub struct Probe(PathBuf);

impl Probe {
    /// Compiles the probe into `folder`.
    ///
    /// # Errors
    /// When the brief is not there; our own measurement stands in for it.
    pub fn build(folder: &Path) -> Result<Self> {
        brief::compile("limits", folder).map(Self)
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
