//! Who has a UDP port: /proc knows the socket's number, and whose descriptor it is.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use bcl_os::file::of_kernel;

/// A text like `process 812 (named)`; `None` if nothing can be told.
pub(super) fn of_port(address: SocketAddr) -> Option<String> {
    let table = match address {
        SocketAddr::V4(_) => "/proc/net/udp",
        SocketAddr::V6(_) => "/proc/net/udp6",
    };
    let (inode, uid) = socket_at(&of_kernel(table).ok()?, address.port())?;
    Some(match process_with(inode) {
        Some((pid, name)) => format!("process {pid} ({name})"),
        // Other users' descriptors can be read by root only.
        None => format!("a process of user {uid} (as root, `ss -ulnp` names it)"),
    })
}

/// Number and owner of the first socket at `port`.
fn socket_at(table: &str, port: u16) -> Option<(u64, u32)> {
    table.lines().skip(1).find_map(|line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, local_port) = columns.get(1)?.rsplit_once(':')?;
        if u16::from_str_radix(local_port, 16).ok()? != port {
            return None;
        }
        Some((columns.get(9)?.parse().ok()?, columns.get(7)?.parse().ok()?))
    })
}

fn process_with(inode: u64) -> Option<(u32, String)> {
    let wanted = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .find(|pid| has_descriptor(*pid, Path::new(&wanted)))
        .map(|pid| {
            let name = of_kernel(format!("/proc/{pid}/comm")).unwrap_or_default();
            (pid, name.trim_end().to_owned())
        })
}

fn has_descriptor(pid: u32, wanted: &Path) -> bool {
    fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten()
        .any(|descriptor| fs::read_link(descriptor.path()).is_ok_and(|to| to == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n\
         1234: 0100007F:4E27 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 26741 2 0000000000000000 0\n";

    #[test]
    fn the_table_of_the_kernel_is_read() {
        assert_eq!(socket_at(TABLE, 20007), Some((26741, 1000)));
        assert_eq!(socket_at(TABLE, 20008), None);
        assert_eq!(socket_at("nonsense\n1: 2\n", 7), None);
    }
}
