//! A socket folder of its own for each measurement: other ports of the machine stay out of it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Result, system};

/// A folder that goes with its measurement.
pub struct NodeFolder(PathBuf);

impl NodeFolder {
    /// Makes the folder. Its path is short, for sockets lie in it.
    ///
    /// # Errors
    /// When the folder for temporary files takes none.
    pub fn make() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("bcl-bench-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(system("make", path.display()))?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for NodeFolder {
    fn drop(&mut self) {
        // What is left in the folder for temporary files does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}
