//! What the environment says about this node and this job. Each case runs in a process of its own,
//! because an environment belongs to a whole process.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use bcl_node::{Folder, JobKey, Nodes, detect_node};

mod common;

/// What a child with `variables` reports.
fn report(variables: &[(&str, &str)]) -> String {
    let mut child = common::child("a_child_that_reports", "run");
    for name in [
        "BCL_NODE",
        "BCL_NODES",
        "BCL_NODES_TEXT",
        "BCL_DIR",
        "BCL_JOB_KEY",
        "BCL_JOB_KEY_FILE",
    ] {
        child.env_remove(name);
    }
    child.env("HOME", "/no/such/home");
    let output = child.envs(variables.iter().copied()).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Not a test of its own, see [`common::child`].
#[test]
fn a_child_that_reports() {
    if common::role().is_none() {
        return;
    }
    match detect_node() {
        Ok((node, why)) => println!("node {node}: {why}"),
        Err(error) => println!("no node: {error}"),
    }
    if let Ok((_, origin)) = Nodes::load_with_origin() {
        for error in origin.passed_over {
            println!("passed over {error}");
        }
    }
    println!("folder {}", Folder::default_path().display());
    match JobKey::from_env() {
        Ok(key) => println!("key {}", key.to_hex()),
        Err(error) => println!("no key: {error}"),
    }
}

#[test]
fn without_variables_there_are_defaults() {
    let report = report(&[]);
    let of_user = JobKey::of_user(rustix::process::geteuid().as_raw());
    assert!(
        report.contains(&format!("key {}", of_user.to_hex())),
        "{report}"
    );
    assert!(report.contains("folder /tmp/bcl\n"), "{report}");
    assert!(report.contains("default route"), "{report}");
}

#[test]
fn node_and_folder_can_be_set() {
    let report = report(&[("BCL_NODE", "10.1.2.3"), ("BCL_DIR", "/run/ports")]);
    assert!(
        report.contains("node 10.1.2.3: set by BCL_NODE"),
        "{report}"
    );
    assert!(report.contains("folder /run/ports\n"), "{report}");
}

#[test]
fn a_wrong_node_is_not_ignored() {
    let report = report(&[("BCL_NODE", "localhost")]);
    assert!(
        report.contains("no node: BCL_NODE: 'localhost'"),
        "{report}"
    );
}

#[test]
fn the_nodes_file_says_which_node_this_is() {
    let home = tempfile::tempdir().unwrap();
    let here = "number = '10.4.4.4'\naddresses = ['127.0.0.1']\n";
    let path = home.path().join(".config/bcl/nodes.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("[node.here]\n{here}")).unwrap();
    let found = report(&[("HOME", home.path().to_str().unwrap())]);
    assert!(
        found.contains("node 10.4.4.4: 127.0.0.1 of node here"),
        "{found}"
    );

    let other = home.path().join("nodes.toml");
    fs::write(&other, format!("\n[node.here]\n{here}colour = 1\n")).unwrap();
    let refused = report(&[("BCL_NODES", other.to_str().unwrap())]);
    assert!(refused.contains("nodes.toml, line 5: "), "{refused}");
    let missing = report(&[("BCL_NODES", "/no/such/file")]);
    assert!(
        missing.contains("no node: cannot read the nodes file /no/such/file"),
        "{missing}"
    );
    let text = (
        "BCL_NODES_TEXT",
        "[node.here]\nnumber = '10.5.5.5'\naddresses = ['127.0.0.1']\n",
    );
    let told = report(&[("BCL_NODES", "/no/such/file"), text]);
    assert!(
        told.contains("node 10.5.5.5: 127.0.0.1 of node here"),
        "{told}"
    );
    let wrong = report(&[("BCL_NODES_TEXT", "[node.here]\n")]);
    assert!(
        wrong.contains("nodes file BCL_NODES_TEXT, line 1: "),
        "{wrong}"
    );
    let set = report(&[("BCL_NODES", "/no/such/file"), ("BCL_NODE", "10.1.2.3")]);
    assert!(set.contains("node 10.1.2.3: set by BCL_NODE"), "{set}");
}

/// What was not asked for and cannot be read is not there: another user's home, or none at all.
#[test]
fn a_home_that_cannot_be_read_has_no_nodes_file() {
    let homes = tempfile::tempdir().unwrap();
    let path = |name: &str| homes.path().join(name).join(".config/bcl");
    // In a circle, for root may read everything that is there.
    fs::create_dir_all(path("circle")).unwrap();
    std::os::unix::fs::symlink("nodes.toml", path("circle").join("nodes.toml")).unwrap();
    fs::create_dir_all(path("folder").join("nodes.toml")).unwrap();
    let home = |name: &str| homes.path().join(name).to_str().unwrap().to_owned();
    for home in [
        home("circle"),
        home("folder"),
        format!("/{}", "x/".repeat(3000)),
    ] {
        let found = report(&[("HOME", &home)]);
        assert!(found.contains("default route"), "{found}");
        assert!(
            found.contains("passed over cannot read the nodes file"),
            "{found}"
        );
        assert!(found.contains("nodes.toml"), "{found}");
    }
    // What is read and wrong is told.
    fs::create_dir_all(path("wrong")).unwrap();
    fs::write(path("wrong").join("nodes.toml"), "[node").unwrap();
    let found = report(&[("HOME", &home("wrong"))]);
    assert!(found.contains("nodes.toml, line 1"), "{found}");
}

#[test]
fn what_is_no_file_is_no_nodes_file() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let kind = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
    for path in [pipe.to_str().unwrap(), "/dev/zero"] {
        let refused = report(&[("BCL_NODES", path)]);
        assert!(refused.contains("it is not a regular file"), "{refused}");
    }
    let long = folder.path().join("long");
    let file = fs::File::create(&long).unwrap();
    file.set_len(20 << 30).unwrap();
    let refused = report(&[("BCL_NODES", long.to_str().unwrap())]);
    assert!(refused.contains("it is longer than"), "{refused}");
}

#[test]
fn the_key_variable_comes_before_the_file() {
    let hex = "ab".repeat(32);
    let report = report(&[("BCL_JOB_KEY", &hex), ("BCL_JOB_KEY_FILE", "/no/such/file")]);
    assert!(report.contains(&format!("key {hex}")), "{report}");
}

#[test]
fn the_key_file_is_read() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("key");
    let hex = "cd".repeat(32);
    fs::write(&path, &hex).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let report = report(&[("BCL_JOB_KEY_FILE", path.to_str().unwrap())]);
    assert!(report.contains(&format!("key {hex}")), "{report}");
}

#[test]
fn a_wrong_key_is_an_error_and_not_the_default() {
    for wrong in ["", "secret", "abc"] {
        let report = report(&[("BCL_JOB_KEY", wrong)]);
        assert!(
            report.contains("no key: BCL_JOB_KEY is not a job key"),
            "{report}"
        );
        assert!(!report.contains("secret"), "{report}");
    }
    let report = report(&[("BCL_JOB_KEY_FILE", "")]);
    assert!(report.contains("no key: "), "{report}");
}
