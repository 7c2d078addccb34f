//! What members of a node say to each other ([REFLECT-2.5]).

use std::os::fd::{AsFd, BorrowedFd};

use bcl_node::fdpass::{self, FdPassError, Received};
use bcl_os::Fd;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::report::Report;
use crate::options::Geometry;

/// Longest datagram.
const MAX_BYTES: usize = 64 << 10;

/// What is asked for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "want", rename_all = "lowercase")]
pub enum Wish {
    /// The region; an answer is a challenge.
    Region { nonce: String },
    /// The same, by one who knows the key.
    Proved { proof: String },
    /// To hear when this process ends.
    Watch,
    /// That it looks whom it has to watch.
    Look,
    /// What there is to tell people.
    Report,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum Answer {
    /// This process knows the key; now prove that you do.
    Challenge { nonce: String, proof: String },
    /// Here it is: the segment's descriptor is beside it.
    Region(Geometry),
    /// A pidfd is beside it, if the kernel has such.
    Watched,
    /// For people.
    Report(Report),
}

/// Why nothing was understood.
#[derive(Debug)]
pub enum Unheard {
    /// Nothing has come yet.
    NotYet,
    /// The connection is over, or makes no sense.
    Over,
}

/// Says it, or gives up.
pub fn say(
    sock: impl AsFd,
    what: &impl Serialize,
    beside: &[BorrowedFd<'_>],
) -> Result<(), FdPassError> {
    let text = serde_json::to_vec(what).unwrap_or_default();
    fdpass::send(sock, &text, beside)
}

/// What has come, and the descriptors beside it.
pub fn hear<T: DeserializeOwned>(sock: impl AsFd) -> Result<(T, Vec<Fd>), Unheard> {
    let mut buffer = vec![0; MAX_BYTES];
    match fdpass::recv(sock, &mut buffer) {
        Ok(Received { len_bytes, fds }) => {
            let what = serde_json::from_slice(&buffer[..len_bytes]);
            Ok((what.map_err(|_| Unheard::Over)?, fds))
        }
        Err(FdPassError::WouldBlock) => Err(Unheard::NotYet),
        Err(_) => Err(Unheard::Over),
    }
}
