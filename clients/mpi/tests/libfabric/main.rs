//! The provider as a program sees it: built as it ships, loaded by the machine's libfabric.

mod installed;
mod named;

use std::process::Command;

use installed::{Installed, library, text};

/// The provider says what it refuses, and nobody else says anything.
const LOUD: [(&str, &str); 2] = [("FI_LOG_LEVEL", "warn"), ("FI_LOG_PROV", "bcl")];

/// Runs a program whose checks all hold; returns what it has said on standard error.
fn passes(name: &str, environment: &[(&str, &str)]) -> String {
    let output = Installed::new().run_source(name, environment);
    let said = text(&output.stderr);
    assert!(
        output.status.success() && text(&output.stdout) == "all of it\n",
        "{}: {said}",
        output.status
    );
    said
}

/// Runs one of which these sentences are expected.
fn says(name: &str, sentences: &[&str]) {
    let said = passes(name, &LOUD);
    for sentence in sentences {
        assert!(
            said.contains(&format!("libbcl-fi: {sentence}")),
            "no '{sentence}' in {said}"
        );
    }
}

fn tool(name: &str, arguments: &[&str]) -> String {
    let output = Command::new(name)
        .args(arguments)
        .arg(library())
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn mpi_libraries_get_what_they_ask_for() {
    const NO: &str = "fi_getinfo: provider bcl does not answer this:";
    says(
        "getinfo.c",
        &[
            &format!("{NO} ep_attr.type is 2: only FI_EP_RDM is there\n"),
            &format!("{NO} it needs capabilities that are not there: 0x800000000000 FI_HMEM\n"),
            &format!("{NO} service 'http' is not the number of a port"),
        ],
    );
}

#[test]
fn a_libfabric_that_is_hidden_is_found() {
    passes("hidden.c", &[]);
}

#[test]
fn nothing_is_said_unless_somebody_wants_to_know() {
    assert_eq!(passes("getinfo.c", &[]), "");
}

#[test]
fn address_vectors_hold_names_and_event_queues_tell() {
    says(
        "addresses.c",
        &[
            "fi_close: the fabric is used by 1 other objects that are still open: close them first\n",
            "fi_av_insert: address 1: it begins as the name of an endpoint of BCL, but was cut short or overwritten\n",
            "fi_av_insert: address 0: the name bcl://",
            "fi_av_insertsvc: ports are not found by service",
        ],
    );
}

#[test]
fn completion_queues_and_counters_can_be_waited_for() {
    says(
        "completions.c",
        &[
            "fi_cq_sread: the completion queue was opened with FI_WAIT_NONE",
            "fi_cq_open: a queue of 1099511627776 completions: 4194304 are the most\n",
        ],
    );
}

#[test]
fn messages_find_each_other() {
    says(
        "messages.c",
        &[
            "fi_enable: no address vector is bound to the endpoint",
            "fi_enable: no completion queue or counter is bound",
            "fi_enable: port 127.0.0.1:",
            "fi_enable: port 9000 is reached from this node only",
            "fi_tsend: the endpoint is not enabled yet",
            "process ",
        ],
    );
}

/// MPI libraries show no text of a provider's, so nobody would know which peer it was.
#[test]
fn the_loss_of_a_peer_is_said_once_without_being_asked() {
    let said = passes("messages.c", &[]);
    let lines: Vec<&str> = said.lines().collect();
    let is_of_a_loss = |line: &&str| {
        line.starts_with("libbcl-fi: process ")
            && line.contains(": a message from 127.0.0.1:")
            && line.ends_with("the peer is gone: it closed its port")
    };
    assert_eq!(lines.len(), 2, "one for each domain: {said}");
    assert!(lines.iter().all(is_of_a_loss), "{said}");
    let left_out = [("FI_LOG_PROV", "^bcl")];
    assert_eq!(passes("messages.c", &left_out), "");
}

#[test]
fn memory_of_others_is_reached() {
    says(
        "reaching.c",
        &[
            "fi_writemsg: 99 bytes of the peer's memory, and 100 of the program's",
            "writing into memory of 127.0.0.1:",
            "fi_atomic: there is no such operation: number 7 on type 9",
            "fi_atomic: invalid argument: an atomic operation of 2000 elements",
        ],
    );
}

#[test]
fn memory_is_registered_by_key() {
    says("memory.c", &["fi_mr_regv: key 0x7 has a region already"]);
}

#[test]
fn a_setting_that_cannot_be_meant_is_named() {
    let installed = Installed::new();
    for (name, value, sentence) in [
        (
            "FI_BCL_CQ_SIZE",
            "many",
            "fi_getinfo: FI_BCL_CQ_SIZE: 'many' is no number of completions",
        ),
        ("BCL_NODE", "host", "BCL_NODE: 'host' names no node"),
    ] {
        let output = installed.run_source("completions.c", &[LOUD[0], LOUD[1], (name, value)]);
        let said = text(&output.stderr);
        assert!(
            !output.status.success() && said.contains(sentence),
            "{said}"
        );
    }
}

#[test]
fn fi_info_shows_it() {
    let output = Installed::new().run("fi_info", &["-p", "bcl", "-v"], &[]);
    let shown = text(&output.stdout);
    for line in [
        "caps: [ FI_MSG, FI_RMA, FI_TAGGED, FI_ATOMIC, ",
        "type: FI_EP_RDM",
        "max_msg_size: 18446744073709551615",
        "av_type: FI_AV_TABLE",
        "prov_name: bcl",
        "mr_mode: [  ]",
    ] {
        assert!(
            shown.contains(line),
            "no '{line}' in {shown}{}",
            text(&output.stderr)
        );
    }
    assert_eq!(shown.matches("fi_info:").count(), 1);
}

#[test]
fn fi_info_lists_what_can_be_set() {
    let output = Installed::new().run(
        "fi_info",
        &["--getenv", "FI_BCL"],
        &[("FI_BCL_CQ_SIZE", "64")],
    );
    // That of Debian 12 puts zeros around values.
    let shown = text(&output.stdout).replace('\0', "");
    for line in [
        "# bcl: Completions that a queue holds if the program does not say how many, 1 to 4194304 (default: 16384)\n",
        "\nFI_BCL_CQ_SIZE=64\n",
    ] {
        assert!(
            shown.contains(line),
            "no '{line}' in {shown}{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn the_library_exports_one_function_and_stays_loaded() {
    let exported = tool("nm", &["--dynamic", "--defined-only"]);
    let names: Vec<&str> = exported
        .lines()
        .filter_map(|line| line.rsplit(' ').next())
        .collect();
    assert_eq!(names, ["fi_prov_ini"]);
    let dynamic = tool("readelf", &["--dynamic", "--wide"]);
    assert!(dynamic.contains("NODELETE"), "{dynamic}");
    assert!(
        !dynamic.contains("libfabric"),
        "linked to libfabric, which binds it to the oldest structures: {dynamic}"
    );
}
