//! Who was told an endpoint's name reaches it, and nobody else does, though nobody has given the job a key.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use bcl_fi::name::{Name, Secret};
use bcl_netns::{Host, hosts};

use crate::LOUD;
use crate::installed::Installed;

const STRANGE: &str = "the peer has another key";

/// Where a process is.
struct Place<'a> {
    host: Option<&'a Host>,
    node: IpAddr,
    /// Processes that share it reach each other by shared memory.
    folder: PathBuf,
}

/// A process with an endpoint.
struct Process {
    child: Child,
    orders: ChildStdin,
    words: BufReader<ChildStdout>,
    /// What it says on standard error.
    said: File,
    name: Name,
}

impl Process {
    fn start(installed: &Installed, program: &Path, place: &Place, name: Option<Name>) -> Self {
        let said = tempfile::tempfile().unwrap();
        let mut command = Command::new(program);
        command
            .args(name.map(|name| to_hex(&name)))
            .env("FI_PROVIDER_PATH", installed.path())
            .env("FI_PROVIDER", "bcl")
            .env("BCL_DIR", &place.folder)
            .env("BCL_NODE", place.node.to_string())
            .env_remove("BCL_JOB_KEY")
            .env_remove("BCL_JOB_KEY_FILE")
            .envs(LOUD)
            .stderr(said.try_clone().unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if let Some(host) = place.host {
            host.adopt(&mut command).unwrap();
        }
        let mut child = command.spawn().unwrap();
        let (orders, words) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut words = BufReader::new(words);
        let name = from_hex(&word(&mut words));
        Self {
            child,
            orders,
            words,
            said,
            name,
        }
    }

    fn asked(&mut self, order: &str) -> String {
        writeln!(self.orders, "{order}").unwrap();
        word(&mut self.words)
    }

    /// How a message to who is called so goes: 0, or an error of libfabric's.
    fn sends(&mut self, to: Name) -> i32 {
        self.asked(&format!("send {}", to_hex(&to)))
            .parse()
            .unwrap()
    }

    fn takes(&mut self) -> String {
        self.asked("take")
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Has said so, to whoever looks, when it is killed.
    fn says(&mut self, sentence: &str) {
        self.kill();
        let mut said = String::new();
        self.said.rewind().unwrap();
        self.said.read_to_string(&mut said).unwrap();
        assert!(said.contains(sentence), "no '{sentence}' in {said}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn word(words: &mut impl BufRead) -> String {
    let mut line = String::new();
    words.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

fn to_hex(name: &Name) -> String {
    let bytes = name.to_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Name {
    let pairs = text.as_bytes().chunks(2);
    let bytes: Vec<u8> = pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    Name::from_bytes(&bytes).unwrap()
}

/// The name with another secret, as of somebody who guesses.
fn altered(name: Name) -> Name {
    let Secret(mut secret) = name.secret.expect("each port has one");
    secret[15] ^= 1;
    Name {
        secret: Some(Secret(secret)),
        ..name
    }
}

/// All of it, between processes that are in these places, and a third that is in the first. Who knows no secret, but the
/// address, gets that error.
fn who_was_told_a_name_comes_in([here, there]: [&Place; 2], untold: i32) {
    let installed = Installed::new();
    let program = installed.build("named.c");
    let start = |place, name| Process::start(&installed, &program, place, name);
    let (mut one, mut other, mut third) =
        (start(here, None), start(there, None), start(here, None));

    assert_eq!(one.sends(other.name), 0);
    assert_eq!(other.takes(), "hello");
    assert_eq!(other.sends(one.name), 0);
    assert_eq!(one.takes(), "hello");

    let guessed = altered(other.name);
    assert_eq!(third.sends(guessed), libc::EACCES);
    assert_eq!(third.sends(Name::open(other.name.address)), untold);
    assert_eq!(third.sends(other.name), 0);
    assert_eq!(other.takes(), "hello");
    third.says(&format!("a message to {}: {STRANGE}", guessed.address));
    let mut fourth = start(here, None);
    fourth.asked(&format!("inject {}", to_hex(&guessed)));
    fourth.says(&format!("what was sent to {}: {STRANGE}", guessed.address));

    // Another endpoint under the same address. Who knows the old name does not reach it.
    let (old, new) = (other.name, altered(altered_first(other.name)));
    other.kill();
    let mut other = start(there, Some(new));
    assert_eq!(other.name, new);
    // The first may be told of the end of the old one.
    let errors: Vec<i32> = (0..3).map(|_| one.sends(old)).collect();
    assert!(
        errors.iter().all(|error| *error != 0) && errors[2] == libc::EACCES,
        "{errors:?}"
    );
    assert_eq!(one.sends(new), 0);
    assert_eq!(other.takes(), "hello");
}

/// Another than the one that was guessed.
fn altered_first(name: Name) -> Name {
    let secret = name.secret.map(|Secret(mut secret)| {
        secret[0] ^= 1;
        Secret(secret)
    });
    Name { secret, ..name }
}

#[test]
fn between_hosts() {
    let Some((block, [one, other])) = hosts() else {
        return;
    };
    let nodes = [1, 2].map(|host| IpAddr::from(block.v4(0, host)));
    one.join(("eth0", nodes[0]), &other, ("eth0", nodes[1]))
        .unwrap();
    let folders = tempfile::tempdir().unwrap();
    let place = |host, index: usize| Place {
        host: Some(host),
        node: nodes[index],
        folder: folders.path().join(index.to_string()),
    };
    // Nobody is asked over the network by a key that everybody knows.
    let places = [&place(&one, 0), &place(&other, 1)];
    who_was_told_a_name_comes_in(places, libc::EHOSTUNREACH);
}

#[test]
fn on_one_host() {
    let folders = tempfile::tempdir().unwrap();
    let place = Place {
        host: None,
        node: IpAddr::from([127, 0, 0, 1]),
        folder: folders.path().join("ports"),
    };
    who_was_told_a_name_comes_in([&place, &place], libc::EACCES);
}
