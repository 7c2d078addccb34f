//! Manual pages and shell completions, from the same definitions as `--help`.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use crate::failure::{self, Failure, Result};

/// Print the completions for a shell.
#[derive(Debug, Args)]
pub struct Completions {
    shell: Shell,
}

/// Write the manual pages (section 1) into a folder.
#[derive(Debug, Args)]
pub struct Manual {
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Prints a script.
pub fn completions(arguments: &Completions) -> Result<()> {
    // The generator panics when it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut crate::Arguments::command(),
        "bcl",
        &mut script,
    );
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script).map_err(failure::output)
}

/// Writes `bcl.1`, and a page for each command that is not hidden.
pub fn manual(arguments: &Manual) -> Result<()> {
    let folder = &arguments.folder;
    let failed = |error| Failure::system(format_args!("write to {}", folder.display()), error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut command = crate::Arguments::command();
    command.build();
    page(command, "bcl", folder)
}

fn page(command: Command, name: &str, folder: &Path) -> Result<()> {
    for inner in command.get_subcommands() {
        if !inner.is_hide_set() && inner.get_name() != "help" {
            page(
                inner.clone(),
                &format!("{name}-{}", inner.get_name()),
                folder,
            )?;
        }
    }
    let path = folder.join(format!("{name}.1"));
    let failed = |error| Failure::system(format_args!("write {}", path.display()), error);
    let mut text = Vec::new();
    let version = env!("CARGO_PKG_VERSION");
    let manual = clap_mangen::Man::new(command.display_name(name).version(version));
    let manual = manual.title(name.to_uppercase());
    manual.render(&mut text).map_err(failed)?;
    std::fs::write(&path, text).map_err(failed)
}
