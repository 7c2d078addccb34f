//! `bcl doctor --mpi` with a launcher and an MPI library of the test's own, over the machine's libfabric.

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::findings::Findings;
use common::{Node, finish, text};

/// As Open MPI's: it says its version, and starts what it is told to, with lines and settings of its own.
const MPIEXEC: &str = "#!/bin/sh\n\
    case $1 in\n\
    --version) echo 'mpiexec (Open MPI) 5.0.11' ;;\n\
    -n) shift 2; echo Welcome!; ${SET:-true}; exec ${RUN:-env} \"$@\" ;;\n\
    esac\n";

/// BCL as it is installed, and an MPI library.
struct Site {
    node: Node,
    bcl: PathBuf,
    mpiexec: PathBuf,
}

impl Site {
    /// With the library of that source, which is linked to these.
    fn new(source: &str, linked: &[&str]) -> Self {
        let node = Node::new();
        let root = node.folder().to_owned();
        for folder in ["bin", "lib/bcl/libfabric", "mpi/bin", "mpi/lib"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let bcl = root.join("bin/bcl");
        fs::copy(env!("CARGO_BIN_EXE_bcl"), &bcl).unwrap();
        fs::copy(provider(), root.join("lib/bcl/libfabric/libbcl-fi.so")).unwrap();
        let mpiexec = root.join("mpi/bin/mpiexec");
        script(&mpiexec, MPIEXEC);
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(root.join("mpi/lib/libmpi.so.40"))
            .arg(
                Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("tests/c")
                    .join(source),
            )
            .args(linked)
            .output()
            .unwrap();
        assert!(
            compiled.status.success(),
            "{}is libfabric there (Debian: libfabric-dev)?",
            text(&compiled)
        );
        Self { node, bcl, mpiexec }
    }

    fn healthy() -> Self {
        Self::new("mpi.c", &["-lfabric"])
    }

    /// What the doctor finds in such an environment.
    fn doctor(&self, environment: &[(&str, &str)]) -> Findings {
        let mut command = self.node.outside(self.bcl.to_str().unwrap());
        command
            .args(["doctor", "--json", "--mpi"])
            .arg(&self.mpiexec);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("FI_") || name.starts_with("OMPI_") {
                command.env_remove(&*name);
            }
        }
        command.envs(environment.iter().copied());
        Findings::of(&finish(command.spawn().unwrap()))
    }
}

/// That cargo has built beside this test.
fn provider() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().join("libbcl_fi.so")
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_library_that_would_run_over_bcl_is_told_which_settings_are_missing() {
    let site = Site::healthy();
    let found = site.doctor(&[("FI_PROVIDER_PATH", "/elsewhere")]);
    found.expect("mpi_provider", "ok", "lib/bcl/libfabric");
    found.expect("mpi_launcher", "ok", "Open MPI 5.0.11");
    found.expect("mpi_library", "ok", "Fake MPI 1.0");
    found.expect("mpi_libfabric", "ok", "libfabric.so");
    found.expect("mpi_start", "ok", "opens a port of BCL");
    found.expect(
        "mpi_settings",
        "warning",
        "FI_PROVIDER_PATH is /elsewhere, not set is OMPI_MCA_pml",
    );
    assert_eq!(found.status, Some(0));
    let eval = found.all.last().unwrap()["mend"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(eval, "eval \"$(bcl mpi-env openmpi)\"");
    // The command that mends it does.
    let script = format!("{}; exec bcl doctor --mpi \"$1\"", eval);
    let mut shell = site.node.outside("sh");
    shell.args(["-c", &script, "sh"]).arg(&site.mpiexec);
    shell.env(
        "PATH",
        format!("{}:/usr/bin:/bin", site.bcl.parent().unwrap().display()),
    );
    let output = finish(shell.spawn().unwrap());
    assert!(
        text(&output).contains("ok       mpi settings     they are in the environment"),
        "{}",
        text(&output)
    );
}

#[test]
fn what_the_provider_says_against_it_is_passed_on() {
    let found = Site::healthy().doctor(&[("FI_BCL_CQ_SIZE", "many")]);
    found.expect(
        "mpi_start",
        "problem",
        "libbcl-fi: fi_getinfo: FI_BCL_CQ_SIZE: 'many' is no number",
    );
    assert_eq!(found.status, Some(1));
    // Settings do not help it.
    assert!(
        found
            .all
            .iter()
            .all(|finding| finding["check"] != "mpi_settings")
    );
}

#[test]
fn a_process_that_gets_other_settings_or_another_network_is_found() {
    let site = Site::healthy();
    let found = site.doctor(&[
        ("SET", "export FI_PROVIDER_PATH=/nowhere"),
        ("FAKE_MPI", "elsewhere"),
    ]);
    found.expect(
        "mpi_start",
        "problem",
        "FI_PROVIDER_PATH is /nowhere where programs start",
    );
    let found = site.doctor(&[("FAKE_MPI", "elsewhere")]);
    found.expect("mpi_start", "problem", "opens no port of BCL");
    fs::write(
        site.node.folder().join("lib/bcl/libfabric/libbcl-fi.so"),
        "",
    )
    .unwrap();
    let found = site.doctor(&[("FAKE_MPI", "elsewhere")]);
    found.expect("mpi_start", "problem", "has not loaded");
}

#[test]
fn libraries_and_launchers_that_cannot_be_used_are_told_apart() {
    let site = Site::new("mpi_without.c", &[]);
    let found = site.doctor(&[]);
    found.expect("mpi_libfabric", "problem", "built without libfabric");
    fs::write(site.node.folder().join("mpi/lib/libmpi.so.40"), "").unwrap();
    // Where the loader finds none either.
    let found = site.doctor(&[(
        "LD_LIBRARY_PATH",
        site.node.folder().join("mpi/lib").to_str().unwrap(),
    )]);
    found.expect("mpi_library", "problem", "file too short");
    let found = site.doctor(&[("RUN", "/no/such/program")]);
    found.expect("mpi_start", "problem", "starts no process");
    script(&site.mpiexec, "#!/bin/sh\necho slurm 22.05\n");
    site.doctor(&[])
        .expect("mpi_launcher", "problem", "says 'slurm 22.05'");
    fs::remove_file(&site.mpiexec).unwrap();
    site.doctor(&[])
        .expect("mpi_launcher", "problem", "is no program");
    fs::remove_file(site.node.folder().join("lib/bcl/libfabric/libbcl-fi.so")).unwrap();
    site.doctor(&[])
        .expect("mpi_provider", "problem", "make install");
}

#[test]
fn one_that_never_answers_is_not_waited_for() {
    let site = Site::healthy();
    script(
        &site.mpiexec,
        "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n",
    );
    let found = site.doctor(&[]);
    found.expect("mpi_launcher", "problem", "did not end within");
    assert_eq!(found.status, Some(1));
}
