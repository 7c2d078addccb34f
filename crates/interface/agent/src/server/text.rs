//! Answers that may be longer than a datagram: in a sealed memory file ([AGENT-2.4]).

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;

use bcl_agent_messages::{Answer, Failure};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use super::session::not_told;

/// The answer, with its file.
pub(super) fn reply(text: &str) -> Result<(Answer, Vec<OwnedFd>), Failure> {
    let file = file(text).map_err(not_told)?;
    let bytes = text.len() as u64;
    Ok((Answer::Text { bytes }, vec![file]))
}

fn file(text: &str) -> std::io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create("bcld answer", flags)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}
