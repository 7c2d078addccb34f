//! Where and with what it was measured.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command;
use crate::cores::Cores;
use crate::effort::LIMIT;

/// What a reader has to know to judge the figures.
pub struct Machine {
    /// Name and value, in the order of the report.
    pub facts: Vec<(&'static str, String)>,
}

impl Machine {
    /// Looks around, for the MPI libraries in that folder if there are to be any.
    pub fn look(cores: Cores, rounds: usize, libraries: Option<&Path>) -> Self {
        let mut facts = vec![
            ("date", date()),
            ("processor", processor()),
            (
                "cores used",
                format!("{} and {}", cores.first, cores.second),
            ),
            ("kernel", read("/proc/sys/kernel/osrelease")),
            (
                "transparent huge pages",
                read("/sys/kernel/mm/transparent_hugepage/enabled"),
            ),
            ("rounds", rounds.to_string()),
            ("BCL", env!("CARGO_PKG_VERSION").into()),
        ];
        match libraries {
            Some(folder) => facts.push(("MPI", installed(folder))),
            None => facts.extend(peers()),
        }
        facts.push((
            "congestion control of TCP unless chosen",
            read("/proc/sys/net/ipv4/tcp_congestion_control"),
        ));
        Self { facts }
    }
}

/// The versions of those whom Debian has.
fn peers() -> Vec<(&'static str, String)> {
    let version = |words: &[&str], package| {
        command::run(&mut command::from_words(words), package, LIMIT).map_or_else(
            |error| error.to_string(),
            |output| {
                first_version(&output)
                    .unwrap_or("of unknown version")
                    .into()
            },
        )
    };
    vec![
        ("UCX", version(&["ucx_info", "-v"], "ucx-utils")),
        ("MPICH", version(&["mpiexec.mpich", "--version"], "mpich")),
        (
            "Open MPI",
            version(&["mpirun.openmpi", "--version"], "openmpi-bin"),
        ),
        (
            "libfabric",
            version(&["fi_info", "--version"], "libfabric-bin"),
        ),
        ("iperf3", version(&["iperf3", "--version"], "iperf3")),
    ]
}

/// The libraries that testing/mpi/install has put into `folder`: their names have their versions.
fn installed(folder: &Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join("installed").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    if names.is_empty() {
        return format!("none in {}", folder.display());
    }
    names.join(", ")
}

fn date() -> String {
    let mut command = Command::new("date");
    command.args(["-u", "+%Y-%m-%d %H:%M UTC"]);
    command::run(&mut command, "coreutils", LIMIT)
        .map_or_else(|error| error.to_string(), |date| date.trim().into())
}

fn processor() -> String {
    let model = read("/proc/cpuinfo").lines().find_map(|line| {
        Some(
            line.strip_prefix("model name")?
                .split_once(':')?
                .1
                .trim()
                .to_owned(),
        )
    });
    model.unwrap_or_else(|| std::env::consts::ARCH.into())
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map_or_else(
        |error| format!("unknown ({path}: {error})"),
        |text| text.trim().into(),
    )
}

/// The first word of `text` that looks like `1.2` or `1.2.3`.
fn first_version(text: &str) -> Option<&str> {
    text.split_whitespace().find(|word| {
        word.contains('.')
            && word
                .split('.')
                .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    })
}

#[test]
fn versions_are_found_in_what_the_peers_print() {
    assert_eq!(first_version("# Version 1.13.1\n# Git"), Some("1.13.1"));
    assert_eq!(
        first_version("mpirun.openmpi (OpenRTE) 4.1.4\n"),
        Some("4.1.4")
    );
    assert_eq!(
        first_version("HYDRA build details:\n    Version: 4.0.2"),
        Some("4.0.2")
    );
    assert_eq!(first_version("no figure. here"), None);
}
