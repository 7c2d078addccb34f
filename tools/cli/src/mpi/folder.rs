//! Where the provider is.

use std::path::Path;

use crate::failure::{Failure, Result};

/// As `make install` calls it.
const INSTALLED: &str = "libbcl-fi.so";
/// What programs preload for collectives.
const COLLECTIVES: &str = "libbcl-coll.so";
/// As cargo does, in the folder where it puts the command too.
const BUILT: &str = "libbcl_fi.so";

/// The folder that somebody has named.
pub fn given(folder: &Path) -> Result<String> {
    match holds(folder, INSTALLED) || holds(folder, BUILT) {
        true => settable(folder),
        false => Err(Failure::new(format!(
            "{} holds no {INSTALLED}, which is the libfabric provider: name the folder that does, \
             or leave --folder out where BCL is installed",
            folder.display()
        ))),
    }
}

/// The folder that belongs to this command, which `make install` or cargo has put somewhere.
pub fn installed() -> Result<String> {
    let command = std::env::current_exe()
        .map_err(|error| Failure::system("find out where this command is", error))?;
    beside(&command)
}

fn beside(command: &Path) -> Result<String> {
    let bin = command.parent().unwrap_or(Path::new("/"));
    let lib = bin.parent().unwrap_or(bin).join("lib/bcl/libfabric");
    if holds(&lib, INSTALLED) {
        return settable(&lib);
    }
    match holds(bin, BUILT) {
        true => settable(bin),
        false => Err(Failure::new(format!(
            "{INSTALLED}, the libfabric provider, is not in {}: `make install` puts it there together with {} \
             (in a build tree, `cargo build --release -p bcl-fi` makes it); if it is elsewhere, say --folder DIR",
            lib.display(),
            command.display()
        ))),
    }
}

/// The collectives that belong to this command, for LD_PRELOAD.
pub fn collectives() -> Result<String> {
    let command = std::env::current_exe()
        .map_err(|error| Failure::system("find out where this command is", error))?;
    collectives_beside(&command)
}

fn collectives_beside(command: &Path) -> Result<String> {
    let bin = command.parent().unwrap_or(Path::new("/"));
    let installed = bin.parent().unwrap_or(bin).join("lib/bcl/mpi");
    // `make mpi-collectives` of a build tree.
    let built = bin.parent().unwrap_or(bin).join("mpi/collectives");
    let folder = [installed, built]
        .into_iter()
        .find(|folder| holds(folder, COLLECTIVES));
    let Some(folder) = folder else {
        return Err(Failure::new(format!(
            "{COLLECTIVES}, which MPI programs preload, is not where `make install` puts it together with {}",
            command.display()
        )));
    };
    Ok(format!("{}/{COLLECTIVES}", settable(&folder)?))
}

fn holds(folder: &Path, library: &str) -> bool {
    folder.join(library).is_file()
}

/// The folder from the root, if a variable can have it: libfabric takes a colon for the beginning of another folder.
fn settable(folder: &Path) -> Result<String> {
    let whole = folder
        .canonicalize()
        .map_err(|error| Failure::system(format_args!("look at {}", folder.display()), error))?;
    match whole.to_str() {
        Some(text) if !text.contains(|c: char| c == ':' || c.is_control()) => Ok(text.to_owned()),
        _ => Err(Failure::new(format!(
            "no variable can name {}, for it has a colon or a character that is none: install BCL elsewhere, or \
             copy {INSTALLED} into another folder and say --folder DIR",
            whole.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }

    #[test]
    fn what_is_installed_is_found_before_what_was_built() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().canonicalize().unwrap().join(path);
        let command = at("bin/bcl");
        let lost = beside(&command).unwrap_err().text;
        assert!(
            lost.contains("make install") && lost.contains("--folder"),
            "{lost}"
        );
        touch(&at("bin/libbcl_fi.so"));
        assert_eq!(beside(&command).unwrap(), at("bin").to_str().unwrap());
        touch(&at("lib/bcl/libfabric/libbcl-fi.so"));
        let installed = at("lib/bcl/libfabric");
        assert_eq!(beside(&command).unwrap(), installed.to_str().unwrap());
        assert_eq!(given(&installed).unwrap(), installed.to_str().unwrap());
        assert!(given(&at("lib")).is_err());
    }

    #[test]
    fn collectives_are_found_where_they_were_installed() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().canonicalize().unwrap().join(path);
        let command = at("bin/bcl");
        let lost = collectives_beside(&command).unwrap_err().text;
        assert!(lost.contains("make install"), "{lost}");
        touch(&at("lib/bcl/mpi/libbcl-coll.so"));
        let found = collectives_beside(&command).unwrap();
        assert_eq!(found, at("lib/bcl/mpi/libbcl-coll.so").to_str().unwrap());
    }

    #[test]
    fn a_folder_that_libfabric_would_take_for_two_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a:b");
        touch(&folder.join(INSTALLED));
        assert!(given(&folder).unwrap_err().text.contains("colon"));
    }
}
