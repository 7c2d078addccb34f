//! What can go wrong with the kernel's help, and what to do about it.

use std::io;
use std::path::PathBuf;

use crate::occupant::Occupant;

/// Why the interface program cannot be loaded, attached or told something, with the remedy where there is one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call was refused.
    #[error("{doing}: {source}{}", hint(.source))]
    Kernel {
        /// What was to be done.
        doing: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The verifier does not let the interface program in.
    #[error(
        "the kernel does not accept the interface program ({source}); its verifier says: {log}"
    )]
    Verifier {
        /// The kernel's answer.
        source: io::Error,
        /// What it has said.
        log: String,
    },
    /// The object that was compiled in is not what this code expects.
    #[error("the interface program was not compiled as it must be: {0}")]
    Object(String),
    /// There is no such interface.
    #[error("there is no interface '{0}': 'ip link' lists those that there are")]
    NoInterface(String),
    /// Another program is first on the interface.
    #[error(
        "another XDP program is attached to {interface}, {occupant}, and only one can be: {}; or let BCL use the udp tier there",
        .occupant.remedy(.interface)
    )]
    Occupied {
        /// The interface.
        interface: String,
        /// What is there.
        occupant: Box<Occupant>,
    },
    /// What is pinned was made by another version.
    #[error(
        "{path} was made by another version of BCL: end its agent and remove {}", .path.parent().unwrap_or(.path).display()
    )]
    Version {
        /// The table that differs.
        path: PathBuf,
    },
}

/// Calls with a word about what was to be done.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|source| Error::Kernel {
            doing: what(),
            source: source.into(),
        })
    }
}

fn hint(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "; this needs root, or the capabilities CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"
        }
        Some(libc::ENOSYS) => "; this kernel was built without BPF",
        Some(libc::E2BIG) => "; a table is full, or what is asked for is too large",
        _ => "",
    }
}

#[test]
fn a_refusal_says_what_is_missing() {
    let refused: Result<(), io::Error> = Err(io::Error::from_raw_os_error(libc::EPERM));
    let error = refused.doing(|| "making table 'ports'".to_owned());
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with("making table 'ports': ") && text.contains("CAP_BPF"),
        "{text}"
    );
}
