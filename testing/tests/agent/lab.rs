//! An agent of one's own, and programs that ask it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use bcl_agent_client::message::{Answer, MAX_ANSWER_BYTES, Request, read, write};
use bcl_node::fdpass;
use bcl_testing::PATIENCE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// A group that no machine has.
pub const GROUP: u32 = 39_990;

/// See the module. All of it goes with it.
pub struct Lab {
    folder: PathBuf,
    /// Words that start the agent, before all options.
    agent_words: Vec<String>,
    options: Vec<String>,
    agent: Option<(Child, BufReader<ChildStderr>)>,
}

impl Lab {
    /// An agent with these options besides the necessary ones, and with tables of files.
    pub fn new(options: &[&str]) -> Self {
        let options = [&["--interface", "lo"], options].concat();
        Self::of(&[env!("CARGO_BIN_EXE_bcld-fake")], &options)
    }

    /// `bcld` in a network namespace, on these interfaces.
    pub fn inside(namespace: &str, interfaces: &[&str]) -> Self {
        let net = format!("--net=/run/netns/{namespace}");
        let words = ["nsenter", &net, env!("CARGO_BIN_EXE_bcld-kernel")];
        let named = interfaces.iter().flat_map(|name| ["--interface", name]);
        Self::of(&words, &named.collect::<Vec<_>>())
    }

    fn of(words: &[&str], options: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bcl-test-agent-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).expect("a temporary folder can be made");
        let mut lab = Self {
            folder,
            agent_words: words.iter().map(|word| (*word).to_owned()).collect(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            agent: None,
        };
        lab.start();
        lab
    }

    /// The command of the agent, with what this lab gives it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.agent_words[0]);
        command.args(&self.agent_words[1..]);
        command
            .args(["--foreground", "--name", "test"])
            .arg(format!("--group={}", group()))
            .args(self.paths())
            .args(&self.options)
            .env_remove("NOTIFY_SOCKET")
            .env_remove("BCL_AGENT")
            .stderr(Stdio::piped());
        command
    }

    /// Options that keep it in the lab.
    pub fn paths(&self) -> [String; 3] {
        let at =
            |option: &str, name: &str| format!("--{option}={}", self.folder.join(name).display());
        [
            at("socket", "agent.sock"),
            at("state", "state"),
            at("bpffs", "bpf"),
        ]
    }

    /// Starts the agent and waits until it is ready.
    pub fn start(&mut self) {
        let mut child = self.command().spawn().expect("bcld-fake starts");
        let stderr = child.stderr.take().expect("it is a pipe");
        let mut stderr = BufReader::new(stderr);
        let mut line = String::new();
        while !line.contains("ready at") {
            line.clear();
            let read = stderr.read_line(&mut line).expect("it writes text");
            assert_ne!(read, 0, "bcld-fake has ended: {:?}", child.wait());
        }
        self.agent = Some((child, stderr));
    }

    /// Kills the agent.
    pub fn kill(&mut self) {
        let (mut child, _) = self.agent.take().expect("it runs");
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }

    /// Has the agent end by itself.
    pub fn stop(&mut self) -> ExitStatus {
        let (mut child, _) = self.agent.take().expect("it runs");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        child.wait().expect("it ends")
    }

    /// The agent's socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("agent.sock")
    }

    /// Where the agent pins its maps.
    pub fn pins(&self) -> PathBuf {
        self.folder.join("bpf/bcl/test")
    }

    /// What stands in the tables, by name.
    pub fn tables(&self) -> Vec<String> {
        names(&self.pins())
    }

    /// What the agent has written down of ports.
    pub fn records(&self) -> Vec<String> {
        let all = names(&self.folder.join("state"));
        all.into_iter().filter(|name| name != "lock").collect()
    }

    /// Adds an entry to the tables that nobody has asked for.
    pub fn forge(&self, entry: &str) {
        fs::write(self.pins().join(entry), "1").expect("it can be written");
    }

    /// Waits until the tables hold these entries and no others.
    pub fn await_tables(&self, expected: &[&str]) {
        let start = Instant::now();
        while self.tables() != expected {
            assert!(
                start.elapsed() < PATIENCE,
                "the tables hold {:?} and not {expected:?}",
                self.tables()
            );
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// A program of this user.
    pub fn asker(&self) -> Asker {
        self.spawn(Command::new(env!("CARGO_BIN_EXE_bcl-asker")))
    }

    /// A program of another user; for root only.
    pub fn asker_of(&self, uid: u32, gid: u32, groups: &[u32]) -> Asker {
        let mut command = Command::new("setpriv");
        command
            .arg(format!("--reuid={uid}"))
            .arg(format!("--regid={gid}"));
        match groups {
            [] => command.arg("--clear-groups"),
            groups => {
                let groups: Vec<String> = groups.iter().map(u32::to_string).collect();
                command.arg(format!("--groups={}", groups.join(",")))
            }
        };
        command.arg(env!("CARGO_BIN_EXE_bcl-asker"));
        self.spawn(command)
    }

    fn spawn(&self, mut command: Command) -> Asker {
        let mut child = command
            .env("BCL_AGENT", self.socket())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bcl-asker starts");
        Asker {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("it is a pipe")),
            child,
        }
    }

    /// A connection to the agent, by hand; it has said that it is ready.
    pub fn line(&self) -> Line {
        let socket = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .expect("there are Unix sockets");
        let address = SocketAddrUnix::new(self.socket()).expect("it is a path");
        rustix::net::connect(&socket, &address).expect("the agent listens");
        let line = Line(socket);
        assert!(matches!(
            line.hear(),
            Some(Answer::Ready { version: 1, .. })
        ));
        line
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Some((mut child, _)) = self.agent.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        // bcld has mounted a file system there; with it go the pins.
        if let Ok(place) =
            std::ffi::CString::new(self.folder.join("bpf").as_os_str().as_encoded_bytes())
        {
            // SAFETY: it is a path.
            unsafe { libc::umount2(place.as_ptr(), libc::MNT_DETACH) };
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Whether this test may become another user; if not, it says so.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The group whose users a lab's agent serves: as another user than root the own one.
pub fn group() -> u32 {
    match is_root() {
        true => GROUP,
        false => rustix::process::getegid().as_raw(),
    }
}

/// For tests that have to become another user.
pub fn skips() -> bool {
    if !is_root() {
        eprintln!("nothing was checked: this test needs root");
    }
    !is_root()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the agent has made it");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("it can be listed").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A program that asks what it is told to. Dropping it kills it.
pub struct Asker {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Asker {
    /// Gives an order and returns the answer.
    pub fn ask(&mut self, order: &str) -> Result<String, String> {
        let input = self.input.as_mut().expect("its input is open");
        writeln!(input, "{order}").expect("bcl-asker reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it writes text");
        let line = line.trim_end();
        match line.split_once(' ') {
            _ if line == "ok" => Ok(String::new()),
            Some(("ok", text)) => Ok(text.to_owned()),
            Some(("error", text)) => Err(text.to_owned()),
            _ => panic!("bcl-asker says '{line}' to '{order}'"),
        }
    }

    /// Gives an order that must be obeyed.
    pub fn tell(&mut self, order: &str) -> String {
        let answer = self.ask(order);
        answer.unwrap_or_else(|error| panic!("'{order}': {error}"))
    }

    /// Gives an order that the agent must refuse, with a text that contains all of these.
    pub fn is_refused(&mut self, order: &str, words: &[&str]) {
        let error = self.ask(order).expect_err(order);
        for word in words {
            assert!(
                error.contains(word),
                "no '{word}' in '{error}' to '{order}'"
            );
        }
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A connection by hand.
pub struct Line(pub OwnedFd);

impl Line {
    /// Says anything. False if the agent has hung up.
    pub fn say(&self, datagram: &[u8]) -> bool {
        fdpass::send(&self.0, datagram, &[]).is_ok()
    }

    /// The next answer; `None` if the agent has hung up.
    pub fn hear(&self) -> Option<Answer> {
        let patience = Timespec {
            tv_sec: PATIENCE.as_secs() as i64,
            tv_nsec: 0,
        };
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        assert_eq!(
            poll(&mut fds, Some(&patience)),
            Ok(1),
            "the agent is silent"
        );
        let mut buffer = [0; MAX_ANSWER_BYTES];
        match fdpass::recv(&self.0, &mut buffer) {
            Ok(received) if received.len_bytes > 0 => {
                let answer = &buffer[..received.len_bytes];
                Some(read(answer).expect("the agent speaks as documented"))
            }
            _ => None,
        }
    }

    /// Asks and hears.
    pub fn ask(&self, request: &Request) -> Option<Answer> {
        assert!(self.say(&write(request).expect("it is short")));
        self.hear()
    }
}
