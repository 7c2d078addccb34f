//! Memory of an interface program, an array of the kernel's BPF, that a peer shows.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::readlink;

use crate::file;
use crate::mapping::Mapping;
use crate::memfd::Error;

/// What the kernel calls the file of any map. No file with a path has such a name.
const NAME: &[u8] = b"anon_inode:bpf-map";
/// `BPF_MAP_TYPE_ARRAY`, whose pages are all there from the beginning: touching one never faults.
const ARRAY: u32 = 2;
/// `BPF_F_MMAPABLE`.
const CAN_BE_MAPPED: u32 = 1 << 10;

/// Maps an array that a peer sent, after making sure that it is one ([SHM-7.6]). The kernel maps no more than there is.
///
/// # Errors
/// When it is something else, shorter, or the kernel refuses.
pub fn adopt(fd: BorrowedFd<'_>, len_bytes: usize, writable: bool) -> Result<Mapping, Error> {
    let name = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let name = readlink(name, Vec::new());
    if !name.is_ok_and(|name| name.as_bytes() == NAME) {
        return Err(Error::Unsafe("it is no map"));
    }
    let info = file::of_kernel(format!("/proc/self/fdinfo/{}", fd.as_raw_fd()));
    if !info.is_ok_and(|info| is_array(&info)) {
        return Err(Error::Unsafe("it is no array"));
    }
    Mapping::new(fd, 0, len_bytes, writable).map_err(|errno| Error::System {
        what: "mapping a window's memory",
        errno,
    })
}

fn is_array(info: &str) -> bool {
    let kind = file::field(info, "map_type:").and_then(|kind| kind.parse().ok());
    let flags = file::field(info, "map_flags:").and_then(|flags| flags.strip_prefix("0x"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags, 16).ok());
    kind == Some(ARRAY) && flags.is_some_and(|flags| flags & CAN_BE_MAPPED != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memfd::{self, Writers};
    use std::os::fd::AsFd;

    /// As Linux 6.18 says it.
    const INFO: &str = "pos:\t0\nflags:\t02000002\nmnt_id:\t16\nino:\t31\nmap_type:\t2\nkey_size:\t4\nvalue_size:\t65536\n\
        max_entries:\t2\nmap_flags:\t0x1400\nmap_extra:\t0x0\nmemlock:\t131072\nmap_id:\t7\nfrozen:\t0\n";

    #[test]
    fn an_array_that_can_be_mapped_is_taken_and_nothing_else() {
        assert!(is_array(INFO));
        // An arena's pages come when they are touched, or do not.
        assert!(!is_array(&INFO.replace("map_type:\t2", "map_type:\t33")));
        assert!(!is_array(&INFO.replace("0x1400", "0x1000")));
        assert!(!is_array(&INFO.replace("0x1400", "1400")));
        assert!(!is_array("pos:\t0\n"));
        let (fd, _mapping) = memfd::create("anon_inode:bpf-map", 4096, Writers::Anybody).unwrap();
        let refused = adopt(fd.as_fd(), 4096, true).map(drop);
        assert!(matches!(refused, Err(Error::Unsafe("it is no map"))));
    }
}
