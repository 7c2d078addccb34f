//! Whether `bcl.h` and this crate agree.

use bcl_cface::{Face, c_constants, c_structure, layout};
use bcl_raw::Piece;

use crate::code::{self, Bcl};
use crate::types::*;
use crate::{events, text};

fn assertions() -> String {
    let mut c = "#include <bcl.h>\n".to_owned();
    c_structure!(c, CAddress = "bcl_address" { node, port, reserved });
    c_structure!(c, COptions = "bcl_options" {
        size, flags, node, number, reserved, copy, folder, key, allow_uids, allow_uids_len,
        device, dead_after_ms,
    });
    c_structure!(c, CEvent = "bcl_event" {
        kind => type, status, peer, cookie, data, len, offset, value, channel, reserved, cause, cause_detail,
        reserved2, handle, immediate, reserved3,
    });
    c_structure!(c, Piece = "struct iovec" { start => iov_base, len_bytes => iov_len });
    c_constants!(
        c,
        "BCL_",
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
        COPY_SINGLE = COPY_SINGLE,
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
    c += &format!(
        "_Static_assert(BCL_QUIET == {}u, \"BCL_QUIET\");\n",
        bcl_raw::QUIET
    );
    for (name, number) in code::ALL {
        let name = if *number == 0 {
            "OK".to_owned()
        } else {
            format!("ERR_{name}")
        };
        c += &format!("_Static_assert(BCL_{name} == {number}, \"BCL_{name}\");\n");
    }
    c
}

#[test]
fn the_header_says_what_the_code_does() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    layout::check("bcl-header", &assertions(), &[folder]);
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
