//! The key that separates jobs.

use std::io;
use std::path::{Path, PathBuf};
use std::{env, fmt};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::file::{self, FileError};

const KEY_VARIABLE: &str = "BCL_JOB_KEY";
const FILE_VARIABLE: &str = "BCL_JOB_KEY_FILE";

/// Fewer digits would be easy to guess, more are surely not a key.
const HEX_DIGITS: std::ops::RangeInclusive<usize> = 32..=128;

/// Much longer than any key, so that a wrong file name costs nothing.
const MAX_FILE_BYTES: u64 = 1024;

/// The key of a job, or of one port. Whoever makes contact with a port has to know its key.
///
/// It is never sent: both ends of a connection prove that they know it (see
/// [`handshake`](crate::handshake)).
#[derive(Clone)]
pub struct JobKey {
    bytes: [u8; 32],
    is_secret: bool,
}

/// Why there is no key. Never contains any part of one.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Not hexadecimal, or of the wrong length.
    #[error(
        "{origin} is not a job key: write 32 to 128 hexadecimal digits, an even number of them, for example from `openssl rand -hex 32`"
    )]
    NotHex {
        /// The variable or file that was read.
        origin: String,
    },
    /// Others than the owner can read the file.
    #[error("job key file {} can be read by others (mode {mode:04o}): run `chmod 600 {}`", path.display(), path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file belongs to somebody else, who knows the key or could change it.
    #[error("job key file {} belongs to user {owner}, not to you: make a copy of your own", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// A directory, device or pipe.
    #[error("job key file {} is not a regular file", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// The file could not be read.
    #[error("cannot read job key file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FileError,
    },
    /// The kernel gave no random numbers.
    #[error("cannot make a random job key: {0}")]
    NoRandomness(io::Error),
}

impl JobKey {
    /// The key of this process' job: `BCL_JOB_KEY` (hexadecimal), else the contents of the file
    /// that `BCL_JOB_KEY_FILE` names, else [`JobKey::of_user`].
    pub fn from_env() -> Result<JobKey, KeyError> {
        let of_user = || Self::of_user(rustix::process::geteuid().as_raw());
        Ok(Self::given_in_env()?.unwrap_or_else(of_user))
    }

    /// Whether somebody has given the job a key; otherwise it has the one of its user, which is no secret.
    pub fn is_given_in_env() -> bool {
        [KEY_VARIABLE, FILE_VARIABLE]
            .iter()
            .any(|name| env::var_os(name).is_some())
    }

    /// The key that somebody has given the job, if anybody has.
    pub fn given_in_env() -> Result<Option<JobKey>, KeyError> {
        if let Some(hex) = env::var_os(KEY_VARIABLE) {
            return parse(&hex.to_string_lossy(), || KEY_VARIABLE.into()).map(Some);
        }
        let file = env::var_os(FILE_VARIABLE);
        file.map(|path| Self::from_file(Path::new(&path)))
            .transpose()
    }

    /// The key that all jobs of a user share when none is given.
    ///
    /// **Not a secret**: anybody can compute it. It only keeps the processes of different users
    /// from meeting by accident; what keeps them out on purpose is the check of their uid.
    pub fn of_user(uid: u32) -> JobKey {
        JobKey {
            bytes: digest("default", &uid.to_le_bytes()),
            is_secret: false,
        }
    }

    /// The key of a port of its own, from a secret that was drawn for it, which its name tells those who are to reach it. If
    /// the job was given a key as well, both sides have to have that, too.
    pub fn of_port(secret: &[u8; 16], job: Option<&JobKey>) -> JobKey {
        let mut known = secret.to_vec();
        known.extend(job.iter().flat_map(|job| job.bytes));
        JobKey::secret(digest("port", &known))
    }

    fn secret(bytes: [u8; 32]) -> JobKey {
        JobKey {
            bytes,
            is_secret: true,
        }
    }

    /// Whether knowing it proves that somebody belongs to the job, since it was given and not derived from a user.
    pub fn is_secret(&self) -> bool {
        self.is_secret
    }

    /// A key from 32 to 128 hexadecimal digits. 64 digits are taken as they are, all other
    /// lengths are hashed to that size.
    pub fn from_hex(hex: &str) -> Result<JobKey, KeyError> {
        parse(hex, || "the given text".into())
    }

    /// A key from a file that contains hexadecimal digits and that only its owner, this user or
    /// root, can read.
    pub fn from_file(path: &Path) -> Result<JobKey, KeyError> {
        let text = read_private(path)?;
        parse(text.trim_ascii(), || {
            format!("the content of {}", path.display())
        })
    }

    /// A new key from the kernel's random numbers.
    pub fn random() -> Result<JobKey, KeyError> {
        let mut bytes = [0; 32];
        bcl_os::random(&mut bytes).map_err(KeyError::NoRandomness)?;
        Ok(JobKey::secret(bytes))
    }

    /// The key as 64 hexadecimal digits, for a launcher that passes it on.
    pub fn to_hex(&self) -> String {
        self.bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// A key for one purpose, from which the job's key cannot be found.
    pub fn derive(&self, purpose: &str) -> [u8; 32] {
        let mut mac = self.mac();
        mac.update(b"derived\0");
        mac.update(purpose.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// What the packets of the job are checked with between nodes ([WIRE-3.3]).
    pub fn packet_secret(&self) -> [u8; 32] {
        self.derive("bcl udp")
    }

    /// A message authentication code over what is fed to it next.
    pub(crate) fn mac(&self) -> Hmac<Sha256> {
        keyed(&self.bytes)
    }
}

impl fmt::Debug for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobKey(..)")
    }
}

fn parse(hex: &str, origin: impl Fn() -> String) -> Result<JobKey, KeyError> {
    let bytes = decode_hex(hex).ok_or_else(|| KeyError::NotHex { origin: origin() })?;
    Ok(match <[u8; 32]>::try_from(bytes.as_slice()) {
        Ok(key) => JobKey::secret(key),
        Err(_) => JobKey::secret(digest("given", &bytes)),
    })
}

fn decode_hex(hex: &str) -> Option<Vec<u8>> {
    if !HEX_DIGITS.contains(&hex.len()) || !hex.len().is_multiple_of(2) {
        return None;
    }
    let digits: Option<Vec<u8>> = hex.chars().map(|c| Some(c.to_digit(16)? as u8)).collect();
    Some(
        digits?
            .chunks_exact(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}

/// The checks are made on the open file, so that nobody can exchange it in between.
fn read_private(path: &Path) -> Result<String, KeyError> {
    let unreadable = |error| match error {
        FileError::NotAFile => KeyError::NotAFile { path: path.into() },
        source => KeyError::Unreadable {
            path: path.into(),
            source,
        },
    };
    let (file, stat) = file::open_regular(path).map_err(unreadable)?;
    let owner = stat.st_uid;
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(KeyError::Foreign {
            path: path.into(),
            owner,
        });
    }
    let mode = stat.st_mode & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyError::Exposed {
            path: path.into(),
            mode,
        });
    }
    file::text_of(file, MAX_FILE_BYTES).map_err(unreadable)
}

fn digest(purpose: &str, bytes: &[u8]) -> [u8; 32] {
    let mut mac = keyed(b"bcl job key, version 1");
    mac.update(purpose.as_bytes());
    mac.update(&[0]);
    mac.update(bytes);
    mac.finalize().into_bytes().into()
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}
