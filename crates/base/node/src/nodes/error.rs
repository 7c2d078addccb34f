//! What can be wrong with a nodes file, or with what is looked up in it.

use std::path::PathBuf;

use bcl_types::ParseAddressError;

use super::parse::Mistake;
use crate::file::FileError;

/// A nodes file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NodesError {
    /// It cannot be read.
    #[error(
        "cannot read the nodes file {}: {error}; BCL_NODES says where it is",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: FileError,
    },
    /// It does not say what a nodes file says.
    #[error("nodes file {}, {mistake}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Where, what, and what to write.
        mistake: Mistake,
    },
}

/// A text that names no port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Not of the form.
    #[error("{0}")]
    Form(#[from] ParseAddressError),
    /// The nodes file does not know the name.
    #[error(
        "no node is called '{name}': {}; write its number, as in 10.0.0.1:7, or name it in a nodes file (BCL_NODES)",
        known_names(known)
    )]
    Unknown {
        /// What was given.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
}

fn known_names(known: &[String]) -> String {
    match known {
        [] => "there is no nodes file, or it is empty".into(),
        _ => format!("the nodes file has {}", known.join(", ")),
    }
}
