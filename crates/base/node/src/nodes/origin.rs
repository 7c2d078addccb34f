//! Which nodes file counts.

use std::env;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::{Nodes, NodesError};

/// Names the file.
const VARIABLE: &str = "BCL_NODES";
/// What would be in a file: what a job's launcher knows, on hosts that may have no file, or another.
pub const TEXT_VARIABLE: &str = "BCL_NODES_TEXT";
/// Below the user's home.
const OF_USER: &str = ".config/bcl/nodes.toml";
const OF_MACHINE: &str = "/etc/bcl/nodes.toml";

/// Where nodes come from.
#[derive(Debug, Default)]
pub struct NodesOrigin {
    /// The file, if there is one; the name of the variable, if that has the text.
    pub path: Option<PathBuf>,
    /// Files that nobody has asked for, and that are there and cannot be read: they count as absent.
    pub passed_over: Vec<NodesError>,
}

/// What somebody has asked for has to be right. A file that is only looked for where it usually is may be another
/// user's: a process that has laid down its privileges often keeps the HOME it had.
pub(super) fn find() -> Result<(Nodes, NodesOrigin), NodesError> {
    let mut origin = NodesOrigin::default();
    if let Some(text) = env::var_os(TEXT_VARIABLE) {
        let path = PathBuf::from(TEXT_VARIABLE);
        let nodes = Nodes::from_text(&path, &text.to_string_lossy())?;
        origin.path = Some(path);
        return Ok((nodes, origin));
    }
    if let Some(path) = env::var_os(VARIABLE) {
        let nodes = Nodes::read(Path::new(&path))?;
        origin.path = Some(path.into());
        return Ok((nodes, origin));
    }
    for path in defaults() {
        match Nodes::read(&path) {
            Ok(nodes) => {
                origin.path = Some(path);
                return Ok((nodes, origin));
            }
            Err(error) => match unreadable(&error) {
                Some(Unreadable::Absent) => {}
                Some(Unreadable::Shut) => origin.passed_over.push(error),
                None => return Err(error),
            },
        }
    }
    Ok((Nodes::default(), origin))
}

fn defaults() -> Vec<PathBuf> {
    let home = env::var_os("HOME").filter(|home| !home.is_empty());
    let of_user = home.map(|home| Path::new(&home).join(OF_USER));
    of_user.into_iter().chain([OF_MACHINE.into()]).collect()
}

/// How a file that nobody has asked for is not to be read.
enum Unreadable {
    /// It is not there; a home that is a file, or has no possible name, has none either.
    Absent,
    Shut,
}

/// `None` if it was read and is wrong, or would be read next time: then to go on without it would be to guess.
fn unreadable(error: &NodesError) -> Option<Unreadable> {
    let NodesError::Unreadable { error, .. } = error else {
        return None;
    };
    match error.errno() {
        Some(Errno::NOENT | Errno::NOTDIR) => Some(Unreadable::Absent),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => None,
        _ => Some(Unreadable::Shut),
    }
}
