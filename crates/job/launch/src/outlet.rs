//! Where the output of the processes goes, if it passes through the launcher: to its own streams, or to files.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::lines::Lines;

/// For each process where its two streams go.
pub struct Outlet(Vec<[Sink; 2]>);

/// For one stream of one process.
enum Sink {
    /// A stream of ours, whole lines at a time.
    Shared(Lines),
    File(File, PathBuf),
}

impl Outlet {
    /// To our own streams; each line with its process's rank before it, if wanted.
    pub fn shared(size: usize, is_labelled: bool) -> Self {
        let lines = |rank: usize| {
            Sink::Shared(match is_labelled {
                true => Lines::labelled(rank),
                false => Lines::plain(),
            })
        };
        Self((0..size).map(|rank| [lines(rank), lines(rank)]).collect())
    }

    /// To files in a folder: RANK.out and RANK.err.
    pub fn files(size: usize, folder: &Path) -> Result<Self> {
        let sinks = (0..size).map(|rank| {
            let [out, err] = create_files(folder, rank)?;
            Ok([Sink::File(out.0, out.1), Sink::File(err.0, err.1)])
        });
        sinks.collect::<Result<_>>().map(Self)
    }

    /// A process has written.
    pub fn write(&mut self, rank: usize, is_error: bool, bytes: &[u8]) -> Result<()> {
        match &mut self.0[rank][usize::from(is_error)] {
            Sink::Shared(lines) => show(is_error, &lines.push(bytes)),
            Sink::File(file, path) => file
                .write_all(bytes)
                .map_err(|error| Error::system(format_args!("write to {}", path.display()), error)),
        }
    }

    /// Shows last lines that nothing has ended.
    pub fn finish(&mut self) -> Result<()> {
        for sinks in &mut self.0 {
            for (sink, is_error) in sinks.iter_mut().zip([false, true]) {
                if let Sink::Shared(lines) = sink {
                    show(is_error, &lines.finish())?;
                }
            }
        }
        Ok(())
    }
}

/// The two files of a process, and what they are called.
pub fn create_files(folder: &Path, rank: usize) -> Result<[(File, PathBuf); 2]> {
    let create = |kind: &str| {
        let path = folder.join(format!("{rank}.{kind}"));
        match File::create(&path) {
            Ok(file) => Ok((file, path)),
            Err(error) => Err(Error::system(
                format_args!("create {}", path.display()),
                error,
            )),
        }
    };
    Ok([create("out")?, create("err")?])
}

fn show(is_error: bool, ready: &[u8]) -> Result<()> {
    let written = match (ready.is_empty(), is_error) {
        (true, _) => return Ok(()),
        (false, true) => std::io::stderr().lock().write_all(ready),
        (false, false) => {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(ready).and_then(|()| stdout.flush())
        }
    };
    written.map_err(Error::Output)
}
