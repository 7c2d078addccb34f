//! What a program without privileges can try with the descriptors that the agent has given it, and what comes of it.

use std::io::Error;
use std::os::fd::{AsRawFd, RawFd};

use bcl_os::Fd;
use std::path::Path;

// Commands of <linux/bpf.h>.
const MAP_CREATE: i32 = 0;
const MAP_LOOKUP_ELEM: i32 = 1;
const MAP_UPDATE_ELEM: i32 = 2;
const MAP_GET_NEXT_ID: i32 = 12;
const MAP_GET_FD_BY_ID: i32 = 14;
const PROG_GET_NEXT_ID: i32 = 11;
const OBJ_GET: i32 = 7;
const MAP_FREEZE: i32 = 22;

/// Room for the attributes of each of these.
type Attributes = [u64; 16];

/// Each attempt and its outcome, as in `update=EPERM`.
pub fn report(statistics: &Fd, ring: &Fd, pins: &Path) -> String {
    let key = 0u32;
    let mut page = [0xffu8; 4096];
    let element = [
        raw(statistics),
        (&raw const key).addr() as u64,
        page.as_mut_ptr().addr() as u64,
    ];
    let pin = pins.join("connections");
    let path = std::ffi::CString::new(pin.as_os_str().as_encoded_bytes()).expect("a path");
    let array = [2 | 4 << 32, 4 | 1 << 32];
    let outcomes = [
        ("update", bpf(MAP_UPDATE_ELEM, &element)),
        ("lookup", bpf(MAP_LOOKUP_ELEM, &element)),
        (
            "write_map",
            map(statistics.as_raw_fd(), libc::PROT_READ | libc::PROT_WRITE),
        ),
        ("read_map", map(statistics.as_raw_fd(), libc::PROT_READ)),
        ("protect", protect(statistics.as_raw_fd())),
        // The first page belongs to the reader; those after it to the kernel.
        ("write_ring", map_at(ring.as_raw_fd(), 4096)),
        ("freeze_ring", bpf(MAP_FREEZE, &[raw(ring)])),
        ("next_map", bpf(MAP_GET_NEXT_ID, &[0])),
        ("next_program", bpf(PROG_GET_NEXT_ID, &[0])),
        ("map_by_id", bpf(MAP_GET_FD_BY_ID, &[1])),
        ("open_pin", bpf(OBJ_GET, &[path.as_ptr().addr() as u64])),
        ("create", bpf(MAP_CREATE, &array)),
    ];
    let words = outcomes.map(|(name, outcome)| format!("{name}={outcome}"));
    words.join(" ")
}

fn raw(fd: &Fd) -> u64 {
    fd.as_raw_fd() as u64
}

fn bpf(command: i32, attributes: &[u64]) -> String {
    let mut all: Attributes = [0; 16];
    all[..attributes.len()].copy_from_slice(attributes);
    // SAFETY: the attributes are longer than those of any command here, and what they point to is alive.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, all.as_ptr(), size_of_val(&all)) };
    outcome(result >= 0)
}

fn map(fd: RawFd, protection: i32) -> String {
    // SAFETY: the kernel chooses where, and nobody uses it.
    let place = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            4096,
            protection,
            libc::MAP_SHARED,
            fd,
            0,
        )
    };
    outcome(place != libc::MAP_FAILED)
}

fn map_at(fd: RawFd, offset: i64) -> String {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: as above.
    let place = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            4096,
            protection,
            libc::MAP_SHARED,
            fd,
            offset,
        )
    };
    outcome(place != libc::MAP_FAILED)
}

/// Mapped to be read, then made writable.
fn protect(fd: RawFd) -> String {
    // SAFETY: as above.
    let place = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ,
            libc::MAP_SHARED,
            fd,
            0,
        )
    };
    // SAFETY: it is the mapping just made.
    let result = unsafe { libc::mprotect(place, 4096, libc::PROT_READ | libc::PROT_WRITE) };
    outcome(result == 0)
}

fn outcome(worked: bool) -> String {
    if worked {
        return "ok".to_owned();
    }
    match Error::last_os_error().raw_os_error() {
        Some(libc::EPERM) => "EPERM".to_owned(),
        Some(libc::EACCES) => "EACCES".to_owned(),
        other => format!("{other:?}"),
    }
}
