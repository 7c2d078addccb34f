//! Which crate may use which: the directions that ARCHITECTURE.md draws.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{assert_clean, repository};

/// What a folder's crates may use. A folder ending in `/` stands for every crate below it.
struct Layer {
    folder: &'static str,
    may_use: &'static [&'static str],
}

/// Everything that ships, bottom up. What is not named here cannot be used by it.
const SHIPPED: &[Layer] = &[
    Layer {
        folder: "crates/types",
        may_use: &[],
    },
    Layer {
        folder: "crates/os",
        may_use: &[],
    },
    Layer {
        folder: "crates/shm",
        may_use: &["crates/os"],
    },
    Layer {
        folder: "crates/node",
        may_use: &["crates/os", "crates/types"],
    },
    Layer {
        folder: "crates/wire",
        may_use: &[],
    },
    Layer {
        folder: "crates/layout",
        may_use: &["crates/wire"],
    },
    Layer {
        folder: "crates/proto",
        may_use: &["crates/layout", "crates/types", "crates/wire"],
    },
    Layer {
        folder: "crates/netns",
        may_use: &[],
    },
    Layer {
        folder: "crates/udp",
        may_use: &["crates/netns", "crates/os"],
    },
    Layer {
        folder: "crates/mcp",
        may_use: &["crates/layout", "crates/wire"],
    },
    Layer {
        folder: "crates/xdp",
        may_use: &["crates/layout", "crates/os", "crates/shm"],
    },
    Layer {
        folder: "crates/status",
        may_use: &[],
    },
    // For tests and the simulator only.
    Layer {
        folder: "crates/mcp-model",
        may_use: &["crates/layout", "crates/proto", "crates/wire"],
    },
    Layer {
        folder: "crates/sim",
        may_use: &[
            "crates/layout",
            "crates/mcp-model",
            "crates/proto",
            "crates/types",
            "crates/wire",
        ],
    },
    Layer {
        folder: "crates/port",
        may_use: &["crates/os", "crates/shm", "crates/types"],
    },
    Layer {
        folder: "crates/tier-shm",
        may_use: &[
            "crates/node",
            "crates/os",
            "crates/port",
            "crates/shm",
            "crates/types",
        ],
    },
    Layer {
        folder: "crates/tier-net",
        may_use: &[
            "crates/agent-client",
            "crates/layout",
            "crates/node",
            "crates/os",
            "crates/port",
            "crates/proto",
            "crates/shm",
            "crates/types",
            "crates/udp",
            "crates/wire",
            "crates/xdp",
        ],
    },
    Layer {
        folder: "crates/agent-client",
        may_use: &["crates/node", "crates/os", "crates/types"],
    },
    Layer {
        folder: "crates/agent",
        may_use: &[
            "crates/agent-client",
            "crates/layout",
            "crates/mcp",
            "crates/node",
            "crates/udp",
            "crates/wire",
        ],
    },
    Layer {
        folder: "crates/bcl",
        may_use: &[
            "crates/node",
            "crates/os",
            "crates/port",
            "crates/proto",
            "crates/shm",
            "crates/tier-net",
            "crates/tier-shm",
            "crates/types",
            "crates/udp",
            "crates/wire",
        ],
    },
    Layer {
        folder: "crates/capi",
        may_use: &["crates/bcl", "crates/os"],
    },
    Layer {
        folder: "tools/",
        may_use: &[
            "crates/agent-client",
            "crates/bcl",
            "crates/netns",
            "crates/wire",
        ],
    },
];

/// What does not ship may use anything.
const NOT_SHIPPED: &[&str] = &["testing", "testing/", "benches", "examples/", "fuzz"];

/// A crate of the workspace and the folders of those it depends on.
struct Package {
    folder: String,
    uses: Vec<String>,
}

fn violations(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        let folder = package.folder.as_str();
        if NOT_SHIPPED.iter().any(|pattern| covers(pattern, folder)) {
            continue;
        }
        let Some(layer) = SHIPPED.iter().find(|layer| covers(layer.folder, folder)) else {
            found.push(format!(
                "{folder} has no layer: say in testing/tests/tidy/layers.rs what it may use"
            ));
            continue;
        };
        for used in &package.uses {
            if !layer.may_use.iter().any(|pattern| covers(pattern, used)) {
                found.push(format!(
                    "{folder} must not depend on {used}; it may use {:?}",
                    layer.may_use
                ));
            }
        }
    }
    found
}

fn covers(pattern: &str, folder: &str) -> bool {
    match pattern.strip_suffix('/') {
        Some(parent) => folder
            .strip_prefix(parent)
            .is_some_and(|rest| rest.starts_with('/')),
        None => folder == pattern,
    }
}

/// Reads `cargo metadata`. Dependencies of every kind count: a test that reaches upwards ties the
/// layers together as firmly as the library does.
fn packages(metadata: &Value) -> Vec<Package> {
    let root = Path::new(text(&metadata["workspace_root"]));
    let folder_of = |path: &Path| {
        path.strip_prefix(root)
            .unwrap_or(path)
            .display()
            .to_string()
    };
    list(&metadata["packages"])
        .map(|package| Package {
            folder: folder_of(
                Path::new(text(&package["manifest_path"]))
                    .parent()
                    .unwrap_or(root),
            ),
            uses: list(&package["dependencies"])
                .filter_map(|dependency| dependency["path"].as_str())
                .map(|path| folder_of(Path::new(path)))
                .collect(),
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

#[test]
fn crates_depend_only_downwards() {
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
    let metadata: Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    assert_clean(
        "a crate reaches where it must not",
        &violations(&packages(&metadata)),
    );
}

#[test]
fn a_reach_upwards_is_found() {
    let package = |folder: &str, uses: &[&str]| Package {
        folder: folder.to_owned(),
        uses: uses.iter().map(|used| (*used).to_owned()).collect(),
    };
    let cases = [
        (package("crates/bcl", &["crates/tier-shm", "crates/shm"]), 0),
        (package("crates/shm", &["crates/node"]), 1),
        (package("crates/node", &["testing"]), 1),
        (package("crates/tier-net", &["crates/tier-shm"]), 1),
        (package("tools/cli", &["crates/bcl", "crates/shm"]), 1),
        (package("toolscli", &[]), 1),
        (package("testing", &["crates/shm", "tools/cli"]), 0),
        (package("benches", &["crates/bcl"]), 0),
    ];
    for (package, expected) in cases {
        let folder = package.folder.clone();
        assert_eq!(violations(&[package]).len(), expected, "of {folder}");
    }
}

#[test]
fn metadata_is_read_as_folders() {
    let metadata = serde_json::json!({
        "workspace_root": "/w",
        "packages": [{
            "manifest_path": "/w/crates/bcl/Cargo.toml",
            "dependencies": [{"path": "/w/crates/shm"}, {"path": null}, {"name": "libc"}],
        }],
    });
    let packages = packages(&metadata);
    assert_eq!(packages[0].folder, "crates/bcl");
    assert_eq!(packages[0].uses, ["crates/shm"]);
}
