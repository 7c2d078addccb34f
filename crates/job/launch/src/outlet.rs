//! Where the output of the processes goes, if it passes through the launcher: to its own streams, or to files.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::lines::Lines;
use crate::name::Name;

/// Where the processes' lines go.
pub struct Outlet {
    kind: Kind,
    sinks: Vec<[Sink; 2]>,
}

/// What is made for a process.
pub enum Kind {
    /// Our own streams; each line with its process's name before it, if wanted.
    Shared { is_labelled: bool },
    /// Files in a folder: NAME.out and NAME.err.
    Files(PathBuf),
}

/// For one stream of one process.
enum Sink {
    /// A stream of ours, whole lines at a time.
    Shared(Lines),
    File(File, PathBuf),
}

impl Outlet {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            sinks: Vec::new(),
        }
    }

    /// The processes with the next numbers, all or none of them.
    pub fn add(&mut self, names: impl Iterator<Item = Name>) -> Result<()> {
        let sinks = names.map(|name| self.kind.sinks(name));
        let sinks: Vec<_> = sinks.collect::<Result<_>>()?;
        self.sinks.extend(sinks);
        Ok(())
    }

    /// A process has written.
    pub fn write(&mut self, process: u32, is_error: bool, bytes: &[u8]) -> Result<()> {
        match &mut self.sinks[process as usize][usize::from(is_error)] {
            Sink::Shared(lines) => show(is_error, &lines.push(bytes)),
            Sink::File(file, path) => file
                .write_all(bytes)
                .map_err(|error| Error::system(format_args!("write to {}", path.display()), error)),
        }
    }

    /// Shows last lines that nothing has ended.
    pub fn finish(&mut self) -> Result<()> {
        for sinks in &mut self.sinks {
            for (sink, is_error) in sinks.iter_mut().zip([false, true]) {
                if let Sink::Shared(lines) = sink {
                    show(is_error, &lines.finish())?;
                }
            }
        }
        Ok(())
    }
}

impl Kind {
    fn sinks(&self, name: Name) -> Result<[Sink; 2]> {
        let lines = |is_labelled| {
            Sink::Shared(match is_labelled {
                true => Lines::labelled(name),
                false => Lines::plain(),
            })
        };
        Ok(match self {
            Self::Shared { is_labelled } => [lines(*is_labelled), lines(*is_labelled)],
            Self::Files(folder) => {
                create_files(folder, name)?.map(|(file, path)| Sink::File(file, path))
            }
        })
    }
}

/// The two files of a process, and what they are called.
pub fn create_files(folder: &Path, name: Name) -> Result<[(File, PathBuf); 2]> {
    let create = |kind: &str| {
        let path = folder.join(format!("{name}.{kind}"));
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
