//! Whether `bcl.h` and this crate agree: assertions that a C compiler checks, made from the Rust side.

use std::fmt::Write;
use std::mem::offset_of;
use std::process::Command;

use bcl_cface::Face;
use bcl_raw::Piece;

use crate::code::{self, Bcl};
use crate::types::*;
use crate::{events, text};

/// Asserts size, and place and size of each field, of a structure; a field whose C name differs is `rust => c`.
macro_rules! structure {
    ($source:ident, $rust:ident = $c:literal { $($field:ident $(=> $name:ident)?),* $(,)? }) => {
        writeln!($source, "_Static_assert(sizeof({0}) == {1}, \"{0}\");", $c, size_of::<$rust>()).unwrap();
        writeln!($source, "_Static_assert(_Alignof({0}) == {1}, \"{0}\");", $c, align_of::<$rust>()).unwrap();
        let mut fields_bytes = 0;
        $(
            let name = structure!(@name $field $($name)?);
            let offset = offset_of!($rust, $field);
            let len = field_len(|value: &$rust| size_of_val(&value.$field));
            writeln!($source, "_Static_assert(offsetof({0}, {name}) == {offset}, \"{0}.{name}\");", $c).unwrap();
            writeln!($source, "_Static_assert(sizeof((({0} *)0)->{name}) == {len}, \"{0}.{name}\");", $c).unwrap();
            fields_bytes += len;
        )*
        assert_eq!(fields_bytes, size_of::<$rust>(), "{} has a field that is not listed, or a hole", $c);
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:ident) => { stringify!($name) };
}

/// Asserts constants.
macro_rules! constants {
    ($source:ident, $($c:ident = $rust:expr),* $(,)?) => {
        $(writeln!($source, "_Static_assert(BCL_{0} == {1}, \"BCL_{0}\");", stringify!($c), $rust).unwrap();)*
    };
}

fn field_len<T>(of: impl Fn(&T) -> usize) -> usize {
    // SAFETY: all of these structures are numbers and pointers, for which zero is a value.
    of(&unsafe { std::mem::zeroed() })
}

fn assertions() -> String {
    let mut c = "#include <bcl.h>\n".to_owned();
    structure!(c, CAddress = "bcl_address" { node, port, reserved });
    structure!(c, COptions = "bcl_options" {
        size, flags, node, number, reserved, copy, folder, key, allow_uids, allow_uids_len,
        device, dead_after_ms,
    });
    structure!(c, CEvent = "bcl_event" {
        kind => type, status, peer, cookie, data, len, offset, value, channel, reserved, cause, cause_detail,
        reserved2, handle, immediate, reserved3,
    });
    structure!(c, Piece = "struct iovec" { start => iov_base, len_bytes => iov_len });
    constants!(
        c,
        SYSTEM_MAX = bcl_raw::SYSTEM_MAX,
        EAGER_MAX = bcl_raw::EAGER_MAX,
        WINDOW_MAX = bcl_raw::WINDOW_COUNT - 1,
        QUEUE_DEPTH = bcl_raw::QUEUE_DEPTH,
        POSTS_MAX = bcl_raw::POSTS_MAX,
        PIECES_MAX = bcl_raw::PIECES_MAX,
        BLOB_MAX = bcl::job::BLOB_MAX,
        CHANNEL_MAX = u16::MAX,
        ONE_THREAD = ONE_THREAD,
        ACCESS_GET = bcl_raw::Access::GET.bits(),
        ACCESS_PUT = bcl_raw::Access::PUT.bits(),
        ACCESS_ATOMIC = bcl_raw::Access::ATOMIC.bits(),
        ACCESS_NOTIFY = bcl_raw::Access::NOTIFY.bits(),
        ACCESS_ALL = bcl_raw::Access::ALL.bits(),
        COPY_DEFAULT = COPY_DEFAULT,
        COPY_AUTO = COPY_AUTO,
        COPY_STREAM = COPY_STREAM,
        DEVICE_DEFAULT = DEVICE_DEFAULT,
        DEVICE_AUTO = DEVICE_AUTO,
        DEVICE_SHM = device_number(bcl_raw::Device::Shm),
        DEVICE_UDP = device_number(bcl_raw::Device::Udp),
        DEVICE_XDP = device_number(bcl_raw::Device::Xdp),
        EVENT_SENT = EVENT_SENT,
        EVENT_MESSAGE = EVENT_MESSAGE,
        EVENT_RECEIVED = EVENT_RECEIVED,
        EVENT_RMA_DONE = EVENT_RMA_DONE,
        EVENT_RMA_ARRIVED = EVENT_RMA_ARRIVED,
        EVENT_PEER_UP = EVENT_PEER_UP,
        EVENT_PEER_GONE = EVENT_PEER_GONE,
        CAUSE_NONE = 0,
        CAUSE_CLOSED = CAUSE_CLOSED,
        CAUSE_EXITED = CAUSE_EXITED,
        CAUSE_KILLED = CAUSE_KILLED,
        CAUSE_VANISHED = CAUSE_VANISHED,
        CAUSE_SILENT = CAUSE_SILENT,
        CAUSE_RESTARTED = CAUSE_RESTARTED,
        CAUSE_PROTOCOL = CAUSE_PROTOCOL,
        SEND = events::SEND,
        RECV = events::RECV,
        ANY = events::ANY,
    );
    writeln!(
        c,
        "_Static_assert(BCL_QUIET == {}u, \"BCL_QUIET\");",
        bcl_raw::QUIET
    )
    .unwrap();
    for (name, number) in code::ALL {
        let name = if *number == 0 {
            "OK".to_owned()
        } else {
            format!("ERR_{name}")
        };
        writeln!(c, "_Static_assert(BCL_{name} == {number}, \"BCL_{name}\");").unwrap();
    }
    c
}

#[test]
fn the_header_says_what_the_code_does() {
    let folder = std::env::temp_dir().join(format!("bcl-header-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("header.c");
    std::fs::write(&source, assertions()).unwrap();
    let output = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"])
        .arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include"))
        .arg(&source)
        .output()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn every_error_code_of_the_header_has_a_text_of_its_own() {
    let header = include_str!("../include/bcl.h");
    let codes = header.matches("\n    BCL_ERR_").count() + 1;
    assert_eq!(codes, code::ALL.len());
    let mut texts: Vec<_> = code::ALL
        .iter()
        .map(|(_, number)| code::text(*number))
        .collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), codes);
}

#[test]
fn the_longest_address_fits_the_room_that_the_header_recommends() {
    let longest = "255.255.255.255:65535";
    let header = include_str!("../include/bcl.h");
    assert!(header.contains("BCL_ADDRESS_TEXT_LEN 24 "));
    assert!(longest.len() < 24);
}

#[test]
fn a_panic_does_not_leave_the_library() {
    let code = Bcl::status("bcl_test", || panic!("on purpose"));
    assert_eq!(code, code::INTERNAL);
    // SAFETY: the sentence is a string.
    let text = unsafe { std::ffi::CStr::from_ptr(text::bcl_last_error()) };
    assert!(
        text.to_str()
            .unwrap()
            .starts_with("bcl_test: a defect of BCL")
    );
}
