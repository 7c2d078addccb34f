//! `bcl-bench mpi` as a whole: jobs that testing/mpi/with starts, what they print, and the verdicts. The MPI libraries are
//! scripts that print figures of our choice; one test takes a real one, where testing/mpi/install has put it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// An `mpicc` that makes a program of nothing: the launchers below start none.
const COMPILER: &str = r#"
while [ "$1" != -o ]; do shift; done
echo >"$2"
"#;

/// A launcher that prints `$FIGURE` for each step of the program it is told to start, or what such a program took.
const FIGURES: &str = r#"
steps=0
for word; do
    case $word in
    [0-9]*:[0-9]*) echo "$FIGURE" | sed "s/SIZE/${word%:*}/"; steps=1 ;;
    esac
done
[ $steps = 1 ] || echo "took $FIGURE s"
"#;

/// A folder for one test, with libraries in it that do as we say.
struct Stage(PathBuf);

impl Stage {
    fn set(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // Of an earlier run, which there need not have been.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// A library whose launcher is `script`.
    fn library(&self, name: &str, launcher: &str, script: &str) {
        let folder = self.libraries().join(name);
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::write(folder.join("installed"), "").unwrap();
        for (program, script) in [("mpicc", COMPILER), (launcher, script)] {
            let path = folder.join("bin").join(program);
            fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn libraries(&self) -> PathBuf {
        self.0.join("libraries")
    }

    fn run(&self, libraries: &Path, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_bcl-bench"))
            .args(["mpi", "--quick", "--rounds", "1", "--out"])
            .arg(self.0.join("out"))
            .arg("--libraries")
            .arg(libraries)
            .args(words)
            .output()
            .unwrap()
    }

    fn report(&self) -> String {
        fs::read_to_string(self.0.join("out/mpi.md")).unwrap()
    }

    fn rows(&self) -> Vec<Value> {
        serde_json::from_str(&fs::read_to_string(self.0.join("out/mpi.json")).unwrap()).unwrap()
    }
}

/// Jobs have hosts, and these take root.
fn has_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("this takes root for network namespaces: nothing was checked");
    }
    root
}

fn expect_success(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

fn expect(report: &str, line: &str) {
    assert!(report.contains(line), "no {line:?} in\n{report}");
}

fn figure(rows: &[Value], subject: &str, size_bytes: Option<u64>) -> f64 {
    let row = rows.iter().find(|row| {
        row["subject"] == subject && row.get("size_bytes").and_then(Value::as_u64) == size_bytes
    });
    row.and_then(|row| row["value"].as_f64())
        .unwrap_or_else(|| panic!("no figure of {subject} at {size_bytes:?} in {rows:?}"))
}

#[test]
fn each_size_has_its_figure_and_the_worst_decides() {
    if !has_root() {
        return;
    }
    let stage = Stage::set("mpi-sizes");
    // Ten times as fast as tcp at every size but one.
    let figures = FIGURES.replace("}/\"", "}/;s/^2560$/200/\"");
    let script =
        format!("case $FI_PROVIDER in bcl) FIGURE=SIZE ;; tcp) FIGURE=SIZE0 ;; esac\n{figures}");
    stage.library("mpich-4.3.2", "mpiexec.hydra", &script);
    expect_success(&stage.run(&stage.libraries(), &["--only", "mpi-hosts-allreduce"]));
    let rows = stage.rows();
    assert_eq!(figure(&rows, "MPICH 4.3.2 on bcl", Some(4096)), 4096.0);
    assert_eq!(
        figure(&rows, "MPICH 4.3.2 on tcp", Some(1 << 20)),
        10_485_760.0
    );
    expect(
        &stage.report(),
        "| 256 us at 256 B | below MPICH on tcp at every size | MPICH 4.3.2 on tcp 200 us | 1.28 | **miss** |",
    );
    let svg = fs::read_to_string(stage.0.join("out/mpi.svg")).unwrap();
    assert!(svg.contains("allreduce"), "the picture shows it");
}

#[test]
fn jobs_run_where_their_work_says() {
    if !has_root() {
        return;
    }
    let stage = Stage::set("mpi-places");
    // The MTU of the network of the launcher, and how many ranks it was asked for; spinning ones are on cores of their own.
    let script = "
mtu=$(ip link show eth0 | sed -n 's/.* mtu \\([0-9]*\\) .*/\\1/p')
while [ $1 != -n ]; do shift; done
[ ${3##*/} = pinned ] && [ $4 = 2 ] || { echo \"not pinned: $*\" >&2; exit 1; }
[ $MPIR_CVAR_POLLS_BEFORE_YIELD = 0 ] || { echo 'does not spin' >&2; exit 1; }
for word; do case $word in [0-9]*:[0-9]*) echo $((100 * mtu + $2)) ;; esac; done
";
    stage.library("mpich-4.3.2", "mpiexec.hydra", script);
    let only = "mpi-hosts-stream-9000,mpi-hosts-stream-1500";
    expect_success(&stage.run(&stage.libraries(), &["--only", only]));
    let rows = stage.rows();
    let of = |work: &str| -> Vec<Value> {
        let of_work = rows.iter().filter(|row| row["work"] == work);
        of_work.cloned().collect()
    };
    for subject in ["MPICH 4.3.2 on bcl", "MPICH 4.3.2 on tcp"] {
        let narrow = figure(&of("mpi-hosts-stream-1500"), subject, Some(8));
        let wide = figure(&of("mpi-hosts-stream-9000"), subject, Some(8));
        assert_eq!((narrow, wide), (150_002.0, 900_002.0));
    }
    // Raw BCL is really measured in between.
    assert!(figure(&of("mpi-hosts-stream-9000"), "BCL", Some(1 << 20)) > 1.0);
    expect(
        &stage.report(),
        "| 1 MiB: 1.5x tcp | MPICH 4.3.2 on tcp 900002 MB/s | 1.00 | **miss** |",
    );
}

#[test]
fn a_crowd_is_compared_with_the_best_shared_memory() {
    if !has_root() {
        return;
    }
    let stage = Stage::set("mpi-crowd");
    let mpich = format!("FIGURE=9; [ \"$FI_PROVIDER\" = bcl ] && FIGURE=7\n{FIGURES}");
    stage.library("mpich-4.3.2", "mpiexec.hydra", &mpich);
    let open_mpi = format!("FIGURE=2; case $* in *include?bcl*) FIGURE=5.5 ;; esac\n{FIGURES}");
    stage.library("openmpi-5.0.11", "mpirun", &open_mpi);
    expect_success(&stage.run(&stage.libraries(), &["--only", "mpi-crowd-storm"]));
    let report = stage.report();
    expect(&report, "| 7.000 s | MPICH: within 3x");
    expect(&report, "Open MPI 5, its own 2.000 s | 3.50 | **miss** |");
    expect(
        &report,
        "| 5.500 s | Open MPI: the same | Open MPI 5, its own 2.000 s | 2.75 | pass |",
    );
}

#[test]
fn what_is_missing_or_fails_is_said_and_the_rest_goes_on() {
    if !has_root() {
        return;
    }
    let stage = Stage::set("mpi-missing");
    let fails_on_tcp = format!(
        "[ $FI_PROVIDER = bcl ] || {{ echo 'no route' >&2; exit 3; }}\nFIGURE=1\n{FIGURES}"
    );
    stage.library("mpich-4.3.2", "mpiexec.hydra", &fails_on_tcp);
    let only = "mpi-hosts-alltoall,mpi-crowd-storm";
    let output = stage.run(&stage.libraries(), &["--only", only]);
    assert!(!output.status.success(), "one of ours has no figure");
    let report = stage.report();
    expect(
        &report,
        "| below MPICH on tcp at every size | | | not judged |",
    );
    expect(&report, "- mpi-hosts-alltoall, MPICH 4.3.2 on tcp: ");
    expect(&report, "no route");
    expect(&report, "openmpi-5.0.11");
    expect(&report, "is absent: make bench-mpi installs it");
    assert_eq!(figure(&stage.rows(), "MPICH 4.3.2 on bcl", Some(8)), 1.0);
}

#[test]
fn names_are_listed_and_others_refused() {
    let stage = Stage::set("mpi-names");
    let listed = stage.run(Path::new("none"), &["--list"]);
    expect_success(&listed);
    let names = String::from_utf8(listed.stdout).unwrap();
    assert!(
        names.contains("mpi-hosts-latency") && !names.contains("\nnet-"),
        "{names}"
    );
    let refused = stage.run(Path::new("none"), &["--only", "latency-8"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("there is no work latency-8"),
        "{said}"
    );
}

#[test]
fn a_real_library_has_figures_on_us_and_on_tcp() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let libraries = target.join("mpi");
    let needed = ["mpich-4.3.2/installed", "provider/libbcl-fi.so"];
    if !has_root() || !needed.iter().all(|file| libraries.join(file).is_file()) {
        println!(
            "testing/mpi/install and make mpi-provider have not been run: nothing was checked"
        );
        return;
    }
    let stage = Stage::set("mpi-real");
    expect_success(&stage.run(&libraries, &["--only", "mpi-hosts-rate-8"]));
    let rows = stage.rows();
    for subject in ["MPICH 4.3.2 on bcl", "MPICH 4.3.2 on tcp", "BCL"] {
        assert!(figure(&rows, subject, None) > 0.0);
    }
}
