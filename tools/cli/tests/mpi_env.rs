//! `bcl mpi-env`: a shell that reads what it prints has the settings, and is told where the library is to come from.

mod common;

use std::path::{Path, PathBuf};
use std::process::Output;

use common::{Node, finish, text};
use serde_json::Value;

/// An installation, by links and with an empty library: it is named, and not loaded.
fn install(root: &Path) -> PathBuf {
    let (bin, lib) = (root.join("bin"), root.join("lib/bcl/libfabric"));
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::create_dir_all(&lib).unwrap();
    std::fs::hard_link(env!("CARGO_BIN_EXE_bcl"), bin.join("bcl"))
        .or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_bcl"), bin.join("bcl")).map(drop))
        .unwrap();
    std::fs::write(lib.join("libbcl-fi.so"), "").unwrap();
    bin.join("bcl")
}

/// What a shell does with a script, in which `$bcl` is the command.
fn shell(node: &Node, bcl: &Path, script: &str) -> Output {
    let mut shell = node.outside("sh");
    shell.args(["-euc", script]).env("bcl", bcl);
    for name in ["FI_PROVIDER_PATH", "FI_PROVIDER", "OMPI_MCA_osc"] {
        shell.env_remove(name);
    }
    finish(shell.spawn().unwrap())
}

#[test]
fn a_shell_that_reads_it_has_the_settings() {
    let node = Node::new();
    let root = node.folder().canonicalize().unwrap().join("it's here");
    let bcl = install(&root);
    let lib = root.join("lib/bcl/libfabric");
    let show = r#"echo "$FI_PROVIDER_PATH|$FI_PROVIDER|$MPIR_CVAR_CH4_NETMOD|$I_MPI_FABRICS|$OMPI_MCA_osc""#;
    for eval in [r#"eval "$("$bcl" mpi-env)""#, r#"eval $("$bcl" mpi-env)"#] {
        let output = shell(&node, &bcl, &format!("{eval}\n{show}"));
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            format!("{}|bcl|ofi|shm:ofi|^ucx\n", lib.display()),
            "{eval}: {}",
            text(&output)
        );
    }
}

#[test]
fn each_library_gets_what_is_its_own() {
    let node = Node::new();
    let bcl = install(node.folder());
    let json = |arguments: &str| {
        let output = shell(
            &node,
            &bcl,
            &format!("\"$bcl\" mpi-env --format json {arguments}"),
        );
        let value: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
        value["environment"].as_object().unwrap().clone()
    };
    for (family, own, others) in [
        ("mpich", "MPIR_CVAR_CH4_NETMOD", "I_MPI_FABRICS"),
        ("intel", "I_MPI_FABRICS", "OMPI_MCA_pml"),
        ("openmpi", "OMPI_MCA_pml", "FI_PROVIDER"),
    ] {
        let environment = json(family);
        assert!(environment.contains_key("FI_PROVIDER_PATH") && environment.contains_key(own));
        assert!(!environment.contains_key(others), "{family} has {others}");
    }
    assert_eq!(json("").len(), 9);
}

#[test]
fn without_the_library_nothing_is_set_and_the_way_to_have_it_is_said() {
    let node = Node::new();
    let bcl = install(node.folder());
    std::fs::remove_file(node.folder().join("lib/bcl/libfabric/libbcl-fi.so")).unwrap();
    let output = shell(&node, &bcl, r#""$bcl" mpi-env mpich"#);
    let said = text(&output);
    assert!(
        output.stdout.is_empty() && said.contains("make install"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1));
    let output = shell(&node, &bcl, r#""$bcl" mpi-env --folder /proc"#);
    assert!(
        text(&output).contains("/proc holds no libbcl-fi.so"),
        "{}",
        text(&output)
    );
    assert_eq!(node.run(&["mpi-env", "lam"]).status.code(), Some(2));
}
