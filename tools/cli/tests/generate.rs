//! Manual pages and completions come from the definitions of `--help`.

mod common;

use common::Node;

const COMMANDS: [&str; 10] = [
    "perf", "info", "doctor", "stat", "trace", "reflect", "run", "mpi-env", "send", "recv",
];

#[test]
fn every_command_has_a_manual_page_with_its_options() {
    let node = Node::new();
    let folder = node.folder().join("man1");
    node.succeed(&["man", folder.to_str().unwrap()]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    for command in COMMANDS {
        assert!(
            read("bcl.1").replace("\\-", "-").contains(command),
            "bcl.1 does not name {command}"
        );
        assert!(read(&format!("bcl-{command}.1")).starts_with(".ie"));
    }
    assert!(read("bcl-perf-latency.1").contains("\\-\\-iterations"));
    assert!(read("bcl.1").contains("nodes.toml"));
    assert!(read("bcl-run.1").contains("BCL_LAUNCH_FD"));
    assert!(
        !read("bcl-info.1").contains("partner"),
        "what is hidden stays hidden"
    );
    assert!(!read("bcl.1").contains("remote") && !folder.join("bcl-run-remote.1").exists());
}

#[test]
fn every_shell_has_completions_for_every_command() {
    let node = Node::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = node.succeed(&["completions", shell]);
        for command in COMMANDS {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
}

#[test]
fn help_and_version_are_there_and_nonsense_is_a_usage_error() {
    let node = Node::new();
    assert!(
        node.succeed(&["--version"])
            .contains(env!("CARGO_PKG_VERSION"))
    );
    for command in COMMANDS {
        assert!(node.succeed(&[command, "--help"]).contains("Usage: bcl "));
    }
    assert_eq!(node.run(&["nonsense"]).status.code(), Some(2));
    assert_eq!(node.run(&[]).status.code(), Some(2));
}
