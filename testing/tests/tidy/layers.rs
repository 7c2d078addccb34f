//! Which crate may use which: the folders say it, and ARCHITECTURE.md names what each does use.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{assert_clean, repository};

/// What the crates of a folder may use. A pattern ending in `/` stands for every crate below it.
struct Layer {
    folder: &'static str,
    may_use: &'static [&'static str],
}

const BASE: &str = "crates/base/";
const PROTOCOL: &str = "crates/protocol/";
const INTERFACE: &str = "crates/interface/";
const TIERS: &str = "crates/tiers/";
const FACE: &str = "crates/face/";
const JOB: &str = "crates/job/";
const MIDDLE: &str = "middle/";
const CLIENTS: &str = "clients/";

/// Everything that ships, bottom up: base, protocol and interface, tiers, face, job, middle, clients, tools. The first
/// pattern that fits a crate is its layer: some are bound more strictly than their folder.
const SHIPPED: &[Layer] = &[
    Layer {
        folder: BASE,
        may_use: &[BASE],
    },
    // What is said between nodes asks no system: it runs in virtual time.
    Layer {
        folder: "crates/protocol/proto",
        may_use: &[
            "crates/base/types",
            "crates/interface/layout",
            "crates/protocol/wire",
        ],
    },
    Layer {
        folder: PROTOCOL,
        may_use: &[BASE, PROTOCOL, "crates/interface/layout"],
    },
    Layer {
        folder: INTERFACE,
        may_use: &[BASE, PROTOCOL, INTERFACE],
    },
    Layer {
        folder: "crates/tiers/contract",
        may_use: &[BASE],
    },
    Layer {
        folder: "crates/tiers/rings",
        may_use: &[BASE],
    },
    // No tier knows another.
    Layer {
        folder: "crates/tiers/shm",
        may_use: &[BASE, "crates/tiers/contract", "crates/tiers/rings"],
    },
    Layer {
        folder: "crates/tiers/net",
        may_use: &[BASE, PROTOCOL, INTERFACE, "crates/tiers/contract"],
    },
    Layer {
        folder: FACE,
        may_use: &[BASE, PROTOCOL, INTERFACE, TIERS, FACE],
    },
    Layer {
        folder: JOB,
        may_use: &[BASE, PROTOCOL, INTERFACE, TIERS, FACE, JOB],
    },
    // It has no port: it asks the node itself, and has a protocol of its own between nodes.
    Layer {
        folder: "middle/reflect",
        may_use: &[BASE, PROTOCOL],
    },
    Layer {
        folder: MIDDLE,
        may_use: &["crates/base/types", FACE, MIDDLE],
    },
    Layer {
        folder: CLIENTS,
        may_use: &[BASE, PROTOCOL, FACE, JOB, MIDDLE],
    },
    Layer {
        folder: "tools/",
        may_use: &[BASE, PROTOCOL, INTERFACE, FACE, JOB, MIDDLE, CLIENTS],
    },
];

/// What tests and examples of any crate may use beside that.
const FOR_TESTS: &[&str] = &["crates/job/netns"];

/// What does not ship may use anything, and nothing that ships may use it.
const NOT_SHIPPED: &[&str] = &["testing", "testing/", "benches", "examples/", "fuzz"];

/// A crate of the workspace and the folders of those it depends on.
#[derive(Default)]
struct Package {
    /// Without the `bcl-` that all have.
    name: String,
    folder: String,
    uses: Vec<String>,
    /// Only in its tests and examples.
    tests_use: Vec<String>,
}

fn violations(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        let folder = package.folder.as_str();
        if ships(folder) {
            let Some(layer) = SHIPPED.iter().find(|layer| covers(layer.folder, folder)) else {
                found.push(format!(
                    "{folder} has no layer: say in testing/tests/tidy/layers.rs what it may use"
                ));
                continue;
            };
            let may_use = |used: &&String| covered(layer.may_use, used);
            let tests_may_use = |used: &&String| covered(FOR_TESTS, used) || may_use(used);
            let beyond = package.uses.iter().filter(|used| !may_use(used));
            let tests_beyond = package.tests_use.iter().filter(|used| !tests_may_use(used));
            found.extend(beyond.chain(tests_beyond).map(|used| {
                let may_use = layer.may_use;
                format!("{folder} must not depend on {used}; it may use {may_use:?}")
            }));
        }
    }
    found
}

fn ships(folder: &str) -> bool {
    !covered(NOT_SHIPPED, folder)
}

fn covered(patterns: &[&str], folder: &str) -> bool {
    patterns.iter().any(|pattern| covers(pattern, folder))
}

fn covers(pattern: &str, folder: &str) -> bool {
    match pattern.strip_suffix('/') {
        Some(parent) => folder
            .strip_prefix(parent)
            .is_some_and(|rest| rest.starts_with('/')),
        None => folder == pattern,
    }
}

/// Where the list of ARCHITECTURE.md and the manifests differ. A line of the list is a folder, what is in it, and after
/// three spaces what it uses:
///
///     face/capi        the calls of bcl.h   uses bcl, os
fn differences(packages: &[Package], architecture: &str) -> Vec<String> {
    let names: BTreeMap<&str, &str> = packages
        .iter()
        .map(|package| (package.folder.as_str(), package.name.as_str()))
        .collect();
    let listed: BTreeMap<&str, Vec<&str>> = architecture
        .lines()
        .filter_map(|line| {
            let (folder, rest) = line.strip_prefix("    ")?.split_once(' ')?;
            let uses = rest.split_once("   uses ").map_or("", |(_, uses)| uses);
            let uses = uses.split(", ").filter(|name| !name.is_empty());
            names.contains_key(folder).then(|| (folder, uses.collect()))
        })
        .collect();
    let mut found = Vec::new();
    for package in packages.iter().filter(|package| ships(&package.folder)) {
        let mut uses: Vec<&str> = package
            .uses
            .iter()
            .filter_map(|folder| names.get(folder.as_str()).copied())
            .collect();
        uses.sort_unstable();
        // A library that is a build dependency too stands there twice.
        uses.dedup();
        if listed.get(package.folder.as_str()) != Some(&uses) {
            let (folder, uses) = (&package.folder, uses.join(", "));
            found.push(format!("{folder}: its line should end in '   uses {uses}'"));
        }
    }
    found
}

/// Reads `cargo metadata`.
fn packages(metadata: &Value) -> Vec<Package> {
    let root = Path::new(text(&metadata["workspace_root"]));
    let folder_of = |path: &Path| {
        path.strip_prefix(root)
            .unwrap_or(path)
            .display()
            .to_string()
    };
    let used = |package: &Value, by_tests: bool| {
        list(&package["dependencies"])
            .filter(|dependency| (dependency["kind"] == "dev") == by_tests)
            .filter_map(|dependency| dependency["path"].as_str())
            .map(|path| folder_of(Path::new(path)))
            .collect()
    };
    list(&metadata["packages"])
        .map(|package| Package {
            name: text(&package["name"]).trim_start_matches("bcl-").to_owned(),
            folder: folder_of(
                Path::new(text(&package["manifest_path"]))
                    .parent()
                    .unwrap_or(root),
            ),
            uses: used(package, false),
            tests_use: used(package, true),
        })
        .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value
        .as_array()
        .expect("cargo metadata names a list here")
        .iter()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("cargo metadata names a text here")
}

fn of_the_repository() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(repository::root())
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    packages(&serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON"))
}

#[test]
fn crates_depend_only_downwards() {
    assert_clean(
        "a crate reaches where it must not",
        &violations(&of_the_repository()),
    );
}

#[test]
fn the_architecture_names_what_each_crate_uses() {
    let path = repository::root().join("ARCHITECTURE.md");
    let architecture = std::fs::read_to_string(path).expect("it is there");
    assert_clean(
        "ARCHITECTURE.md has another list of crates than Cargo",
        &differences(&of_the_repository(), &architecture),
    );
}

#[test]
fn a_reach_upwards_is_found() {
    let package = |folder: &str, uses: &[&str], tests_use: &[&str]| Package {
        folder: folder.to_owned(),
        uses: uses.iter().map(|used| (*used).to_owned()).collect(),
        tests_use: tests_use.iter().map(|used| (*used).to_owned()).collect(),
        ..Package::default()
    };
    let cases = [
        (package("crates/face/bcl", &["crates/tiers/shm"], &[]), 0),
        (package("crates/base/os", &["crates/protocol/wire"], &[]), 1),
        (
            package("crates/protocol/udp", &[], &["crates/job/netns"]),
            0,
        ),
        (
            package("crates/protocol/udp", &["crates/job/netns"], &[]),
            1,
        ),
        (
            package("crates/protocol/proto", &["crates/base/os"], &[]),
            1,
        ),
        (package("crates/base/node", &[], &["testing"]), 1),
        (package("crates/tiers/net", &["crates/tiers/shm"], &[]), 1),
        (
            package("clients/mpi", &["middle/adi", "crates/tiers/shm"], &[]),
            1,
        ),
        (
            package("tools/cli", &["crates/face/bcl", "testing/sim"], &[]),
            1,
        ),
        (package("toolscli", &[], &[]), 1),
        (package("testing", &["crates/base/os", "tools/cli"], &[]), 0),
        (package("benches", &["crates/face/bcl"], &[]), 0),
    ];
    for (package, expected) in cases {
        let folder = package.folder.clone();
        assert_eq!(violations(&[package]).len(), expected, "of {folder}");
    }
}

#[test]
fn a_line_that_is_not_true_is_found() {
    let packages = || {
        let package = |name: &str, folder: &str, uses: &[&str]| Package {
            name: name.to_owned(),
            folder: folder.to_owned(),
            uses: uses.iter().map(|used| (*used).to_owned()).collect(),
            ..Package::default()
        };
        [
            package("os", "crates/base/os", &[]),
            package("node", "crates/base/node", &["crates/base/os"]),
        ]
    };
    let good = "    crates/base/os    the machine\n    crates/base/node  others   uses os\n";
    assert!(differences(&packages(), good).is_empty());
    for bad in [
        good.replace("uses os", "uses os, udp"),
        good.replace("   uses os", ""),
        good.replace("    crates/base/os    the machine\n", ""),
    ] {
        assert_eq!(differences(&packages(), &bad).len(), 1, "{bad}");
    }
}

#[test]
fn metadata_is_read_as_folders() {
    let metadata = serde_json::json!({
        "workspace_root": "/w",
        "packages": [{
            "name": "bcl-node",
            "manifest_path": "/w/crates/base/node/Cargo.toml",
            "dependencies": [
                {"path": "/w/crates/base/os", "kind": null},
                {"path": "/w/crates/job/netns", "kind": "dev"},
                {"path": null},
                {"name": "libc"},
            ],
        }],
    });
    let packages = packages(&metadata);
    assert_eq!(packages[0].folder, "crates/base/node");
    assert_eq!(packages[0].name, "node");
    assert_eq!(packages[0].uses, ["crates/base/os"]);
    assert_eq!(packages[0].tests_use, ["crates/job/netns"]);
}
