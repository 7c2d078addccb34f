//! Away from the terminal, and ready.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

/// What systemd, if it has started this process, is told the state by.
const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";

/// Whether somebody waits for [`notify_ready`], who wants this process and not a copy of it.
pub fn is_awaited() -> bool {
    std::env::var_os(NOTIFY_SOCKET).is_some()
}

/// What started us goes on; we as well, without its terminal, as another process.
///
/// # Errors
/// When the kernel gives no other process.
///
/// # Safety
/// There is one thread, so that the other process is a whole copy.
pub unsafe fn enter() -> io::Result<()> {
    // SAFETY: as the caller promises.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            rustix::process::setsid()?;
            Ok(())
        }
        // Nothing is to be tidied up here: all belongs to the child.
        _ => std::process::exit(0),
    }
}

/// Tells systemd, if it asks, that whoever comes will be served.
///
/// # Errors
/// When it cannot be told.
pub fn notify_ready() -> io::Result<()> {
    let Some(name) = std::env::var_os(NOTIFY_SOCKET) else {
        return Ok(());
    };
    let name = name.as_encoded_bytes();
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(Path::new(std::str::from_utf8(name).unwrap_or_default())),
    };
    UnixDatagram::unbound()?.send_to_addr(b"READY=1", &address?)?;
    Ok(())
}
