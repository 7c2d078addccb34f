//! Reading files that somebody has named: settings, keys, lists.
//!
//! A name can lead to a pipe on which nobody writes, to a device that never ends, or to a file of gigabytes. None of them
//! is what was meant, and none may hold us up or fill our memory.

use std::io::{self, Read};
use std::path::Path;

use bcl_os::Fd;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A directory, device, socket or pipe.
    #[error("it is not a regular file")]
    NotAFile,
    /// Longer than anything that could be meant.
    #[error("it is longer than {max_bytes} bytes, the most that is read")]
    TooLong {
        /// What is read.
        max_bytes: u64,
    },
    /// No text in UTF-8.
    #[error("it is not a text in UTF-8")]
    NotText,
    /// The system refuses.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl FileError {
    /// What the system said, if it was the system.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::System(error) => Errno::from_io_error(error),
            _ => None,
        }
    }
}

/// The text of a regular file of at most `max_bytes`.
pub fn read_text(path: &Path, max_bytes: u64) -> Result<String, FileError> {
    let (file, _) = open_regular(path)?;
    text_of(file, max_bytes)
}

/// Opens a regular file, and says whose it is and so on. What it is is asked of the open file, so that nobody can exchange
/// it in between, and opening never waits, as for somebody to write to a pipe.
pub(crate) fn open_regular(path: &Path) -> Result<(Fd, Stat), FileError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = Fd::make(|| rustix::fs::open(path, flags, Mode::empty()));
    let file = opened.map_err(io::Error::from)?;
    let stat = rustix::fs::fstat(&file).map_err(io::Error::from)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok((file, stat)),
        _ => Err(FileError::NotAFile),
    }
}

/// The text of an open file, if it ends after `max_bytes` or before: its length may be anything by now.
pub(crate) fn text_of(file: Fd, max_bytes: u64) -> Result<String, FileError> {
    let mut bytes = Vec::new();
    file.take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(FileError::TooLong { max_bytes });
    }
    String::from_utf8(bytes).map_err(|_| FileError::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mknodat};
    use std::fs::{self, File};

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "abc").unwrap();
        assert_eq!(read_text(&path, 3).unwrap(), "abc");
        assert!(matches!(
            read_text(&path, 2),
            Err(FileError::TooLong { max_bytes: 2 })
        ));
        // It has a length, and nothing of it is anywhere.
        File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(20 << 30))
            .unwrap();
        assert!(matches!(
            read_text(&path, 1024),
            Err(FileError::TooLong { .. })
        ));
        fs::write(&path, [0xFF]).unwrap();
        assert!(matches!(read_text(&path, 9), Err(FileError::NotText)));
        assert_eq!(
            read_text(&folder.path().join("none"), 9)
                .unwrap_err()
                .errno(),
            Some(Errno::NOENT)
        );
    }

    #[test]
    fn what_is_no_file_is_neither_waited_for_nor_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [
            pipe.as_path(),
            folder.path(),
            Path::new("/dev/zero"),
            Path::new("/dev/null"),
        ] {
            let error = read_text(path, 1024).unwrap_err();
            assert!(matches!(error, FileError::NotAFile), "{}", path.display());
        }
    }
}
