//! MPI libraries, unmodified, over BCL: what they have to be told, and `bcl mpi-env`, which prints it.

pub mod family;
pub mod folder;
pub mod probe;
mod shell;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::failure::Result;
use crate::output;
use family::{Family, Settings};
use shell::Shell;

/// Print the settings that make unmodified programs of an MPI library run over BCL.
///
/// They are for the shell to read: eval "$(bcl mpi-env)". After that mpiexec and mpirun are used as ever. The settings
/// name the folder of the libfabric provider, which has to be the same on all hosts. `bcl doctor --mpi` tries
/// them out.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The MPI library [default: the settings of all three, which do not disturb each other].
    mpi: Option<Family>,
    /// Also have MPI_Barrier, MPI_Bcast and small MPI_Allreduce done by BCL (LD_PRELOAD; man 7 bcl_coll_mpi).
    #[arg(long)]
    collectives: bool,
    /// How to print them: csh: eval "`bcl mpi-env --format csh`"; fish: bcl mpi-env --format fish | source.
    #[arg(long, value_name = "FORMAT", default_value = "sh")]
    format: Format,
    /// Where the provider, libbcl-fi.so, is [default: where it was installed together with this command].
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For sh, bash and zsh.
    Sh,
    /// For csh and tcsh.
    Csh,
    Fish,
    /// One JSON object.
    Json,
}

/// Prints them.
pub fn run(arguments: &Arguments) -> Result<()> {
    let folder = match &arguments.folder {
        Some(folder) => folder::given(folder)?,
        None => folder::installed()?,
    };
    let families = match &arguments.mpi {
        Some(family) => std::slice::from_ref(family),
        None => Family::value_variants(),
    };
    let mut settings = Settings::of(families, &folder);
    if arguments.collectives {
        let before = std::env::var("LD_PRELOAD").ok();
        settings.preload(folder::collectives()?, before.as_deref());
    }
    let shell = match arguments.format {
        Format::Sh => Shell::Bourne,
        Format::Csh => Shell::C,
        Format::Fish => Shell::Fish,
        Format::Json => return output::json(&settings),
    };
    shell.script(&settings).iter().try_for_each(output::line)
}
