//! Whatever cargo starts keeps to a network of its own (`scripts/own-network`): the machine's is left alone.

use std::fs;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bcl_testing::netns::{Tap, cluster};

/// Said by the script to what it starts without a network of its own.
const REFUSED: &str = "OWN_NETWORK_REFUSED";
/// Tests that send much, or that look for hosts and names: a test binary that no other crate has by that name, and a
/// part of its tests' names.
const LIVELY: [(&str, &str); 6] = [
    ("conformance", "messages::"),
    ("agent", "restart::"),
    ("transfer", "of_the_nodes_file"),
    ("doctor", "names_and_keys"),
    ("doctor", "people_read"),
    ("loopback", ""),
];
/// Longer than a packet takes over a cable.
const A_WHILE: Duration = Duration::from_millis(100);
/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_test_has_a_network_of_its_own() {
    if std::env::var_os(REFUSED).is_some() {
        println!("networks of one's own are not permitted here: nothing was checked");
        return;
    }
    let up = output(Command::new("ip").args(["-o", "link", "show", "up"]));
    let names: Vec<_> = up
        .lines()
        .filter_map(|line| line.split(": ").nth(1))
        .collect();
    assert_eq!(
        names,
        ["lo"],
        "start tests with cargo, or with scripts/own-network"
    );
}

/// A name server that listens where the machine's would.
#[test]
fn a_name_is_looked_up_in_a_file_and_asked_of_nobody() {
    if !rustix::process::geteuid().is_root() || std::env::var_os(REFUSED).is_some() {
        println!("not root in a network of its own: nothing was checked");
        return;
    }
    let server = UdpSocket::bind("127.0.0.1:53").expect("nobody else is in this network");
    server.set_nonblocking(true).expect("it need not wait");
    let asked = || match server.recv(&mut [0; 512]) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::WouldBlock => false,
        Err(error) => panic!("the name server: {error}"),
    };
    let looking = |more: &str| {
        let script = format!(
            "cover() {{ new=$(mktemp); echo \"$2\" >$new; mount --bind $new $1; rm $new; }}
             cover /etc/resolv.conf 'nameserver 127.0.0.1'; {more}
             exec getent hosts nobody.invalid"
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]);
        command.spawn().expect("it starts")
    };
    let status = looking("").wait().expect("it ends");
    const NO_SUCH_NAME: i32 = 2;
    assert_eq!(status.code(), Some(NO_SUCH_NAME));
    assert!(!asked());
    // As it would be with a machine's settings.
    let mut child = looking("cover /etc/nsswitch.conf 'hosts: files dns'");
    let deadline = Instant::now() + LONG;
    while !asked() {
        assert!(Instant::now() < deadline, "the name server is not asked");
        thread::sleep(A_WHILE);
    }
    child.kill().expect("it waits for an answer");
    child.wait().expect("it ends");
}

/// A machine with one interface, behind which all the world is.
#[test]
fn no_packet_of_a_test_leaves_the_machine() {
    let Some(cluster) = cluster(2) else {
        return;
    };
    let (machine, world) = (cluster.host(0), cluster.host(1));
    let outside = world.address.to_string();
    let route = ["route", "add", "default", "via", &outside];
    output(machine.command("ip").args(route));
    let wire = world.tap().expect("the world is there");

    let others = LIVELY.map(|(binary, tests)| (newest(binary), tests));
    for (binary, tests) in others.iter().chain([&(own_binary(), "hosts::a_")]) {
        let mut run = machine.command(script());
        // In this network they are together, not each in one of its own: some would want the same port.
        run.arg(binary).args([tests, "--test-threads", "1"]);
        let said = output(&mut run);
        assert!(
            !said.contains("\nrunning 0 tests"),
            "{} has no test '{tests}'",
            binary.display()
        );
    }
    // Who does his best to reach the world cannot; without the script he would.
    let cry = format!("echo anybody? >/dev/udp/{outside}/9");
    let mut contained = machine.command(script());
    contained.args(["bash", "-c", &cry]);
    let result = contained.output().expect("the script is there");
    assert!(!result.status.success());
    assert_eq!(seen(&wire), 0);
    output(machine.command("bash").args(["-c", &cry]));
    assert!(seen(&wire) > 0);
}

/// Kill -9 of a test that has made hosts: the names of the network that it was started in are as they were.
#[test]
fn what_a_killed_test_made_goes_with_it() {
    if cluster(1).is_none() {
        return;
    }
    let before = namespaces();
    let status = Command::new(script())
        .arg(own_binary())
        .args(["nothing_stays_of_a_test_that_was_killed", "--nocapture"])
        .env(super::hosts::TO_BE_KILLED, "1")
        .status()
        .expect("the script is there");
    assert!(!status.success(), "{status}");
    assert_eq!(namespaces(), before);
}

fn namespaces() -> usize {
    let names = fs::read_dir("/run/netns").expect("namespaces are listed there");
    names.count()
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/own-network")
}

fn own_binary() -> PathBuf {
    std::env::current_exe().expect("a test knows its path")
}

/// The test binary of that name that was built last.
fn newest(name: &str) -> PathBuf {
    let own = own_binary();
    let folder = own.parent().expect("it lies in a folder");
    let files = fs::read_dir(folder).expect("it can be listed").flatten();
    let ours = files.map(|file| file.path()).filter(|path| {
        let stem = path.file_name().unwrap_or_default().to_string_lossy();
        // With an extension it is what the compiler knows of the binary.
        stem.rsplit_once('-')
            .is_some_and(|(crate_name, hash)| crate_name == name && !hash.contains('.'))
    });
    let built = |path: &PathBuf| path.metadata().and_then(|known| known.modified()).ok();
    ours.max_by_key(built).unwrap_or_else(|| {
        panic!(
            "no test binary {name} in {}: build them all",
            folder.display()
        )
    })
}

/// How many packets have come until none comes any more, but for those by which the kernel looks for IPv6 routers.
fn seen(wire: &Tap) -> usize {
    let mut frame = [0; 2000];
    let mut packets = 0;
    loop {
        thread::sleep(A_WHILE);
        let mut silent = true;
        while let Some(len) = wire.receive(&mut frame) {
            silent = false;
            packets += usize::from(!is_kernels(&frame[..len]));
        }
        if silent {
            return packets;
        }
    }
}

/// ICMPv6, with or without a header before it that asks routers to look.
fn is_kernels(frame: &[u8]) -> bool {
    const VIRTIO_HEADER: usize = 10;
    const IPV6: [u8; 2] = [0x86, 0xdd];
    let ethernet = &frame[VIRTIO_HEADER..];
    ethernet[12..14] == IPV6 && matches!(ethernet[20], 0 | 58)
}

/// What a command printed, which must succeed.
fn output(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}{complaint}");
    text
}
