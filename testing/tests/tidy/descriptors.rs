//! Descriptors of the library are `bcl_os::Fd`s, which children of a fork close. So nothing in what a program loads holds or
//! makes one in another way: this list is the inventory.

use crate::assert_clean;
use crate::code::code_only;
use crate::repository::{self, Source};

/// What a program loads.
const LOADED: &[&str] = &[
    "clients/mpi/src/",
    "crates/base/node/src/",
    "crates/base/os/src/",
    "crates/face/bcl/src/",
    "crates/face/capi/src/",
    "crates/face/cface/src/",
    "crates/face/raw/src/",
    "crates/interface/agent-client/src/",
    "crates/interface/xdp/src/",
    "crates/protocol/proto/src/",
    "crates/protocol/udp/src/",
    "crates/tiers/contract/src/",
    "crates/tiers/net/src/",
    "crates/tiers/rings/src/",
    "crates/tiers/shm/src/",
    "middle/adi/src/",
    "middle/c/src/",
];

/// What makes or holds descriptors that children keep.
const OTHERS: &[&str] = &[
    "OwnedFd",
    "UnixStream",
    "UnixListener",
    "UnixDatagram",
    "UdpSocket",
    "TcpStream",
    "File::",
    "OpenOptions",
    "fs::read(",
    "fs::read_to_string",
    "fs::read_dir",
    "Dir::read_from",
];

/// Who may, and why.
const ALLOWED: &[(&str, &str)] = &[
    (
        "crates/face/bcl/src/job.rs",
        "takes over the launcher's descriptor, and makes an Fd of it at once",
    ),
    ("crates/base/os/src/fd.rs", "the home of Fd"),
    (
        "crates/base/node/src/sockopt.rs",
        "the kernel's answer to a question, made an Fd by who asks",
    ),
    (
        "crates/protocol/udp/src/socket/mod.rs",
        "gives a socket away, to another process",
    ),
    (
        "crates/protocol/udp/src/socket/holder.rs",
        "lists folders of /proc, for the sake of a better error",
    ),
];

/// The part of a file that is loaded: tests come last.
fn loaded(text: &str) -> String {
    let code = code_only(text);
    let end = code.find("#[cfg(test)]").unwrap_or(code.len());
    code[..end].to_owned()
}

fn is_loaded(path: &str) -> bool {
    let is_test = path.ends_with("/tests.rs") || path.contains("/hostile/");
    LOADED.iter().any(|folder| path.starts_with(folder)) && !is_test
}

fn findings(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| is_loaded(&source.path)) {
        if ALLOWED.iter().any(|(allowed, _)| source.path == *allowed) {
            continue;
        }
        for (index, line) in loaded(&source.text).lines().enumerate() {
            if let Some(other) = OTHERS.iter().find(|other| line.contains(**other)) {
                found.push(format!("{}:{}: {other}", source.path, index + 1));
            }
        }
    }
    found
}

#[test]
fn all_descriptors_are_closed_in_children() {
    assert_clean(
        "descriptors that a forked child keeps (use bcl_os::Fd, or add the file to ALLOWED with a reason)",
        &findings(&repository::sources(&["rs"])),
    );
}

#[test]
fn the_allow_list_names_files_that_need_it() {
    let sources = repository::sources(&["rs"]);
    for (path, reason) in ALLOWED {
        let needs = |source: &&Source| {
            source.path == *path
                && OTHERS
                    .iter()
                    .any(|other| loaded(&source.text).contains(other))
        };
        assert!(
            sources.iter().any(|source| needs(&source)),
            "{path} holds no such descriptor any more: take it off the list ({reason})"
        );
    }
}

#[test]
fn a_descriptor_is_found_where_it_is_loaded_and_not_in_tests() {
    let source = |path: &str, text: &str| Source {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let sources = [
        source("crates/base/node/src/a.rs", "use x;\nlet a: OwnedFd;"),
        source(
            "crates/base/node/src/b.rs",
            "// OwnedFd\n#[cfg(test)]\nOwnedFd",
        ),
        source("crates/base/node/tests/c.rs", "OwnedFd"),
        source("crates/interface/xdp/src/ring/tests.rs", "OwnedFd"),
        source("crates/interface/agent/src/d.rs", "OwnedFd"),
    ];
    assert_eq!(findings(&sources), ["crates/base/node/src/a.rs:2: OwnedFd"]);
}
