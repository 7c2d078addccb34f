//! An agent of one's own: `bcld` in a host's namespace, or one with tables of files.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bcl_agent_client::Status;
use bcl_types::{FIRST_ASSIGNED_PORT, LAST_REACHABLE_PORT};
use bcl_wire::udp_port;
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};

use crate::PATIENCE;
use crate::peer::program;

/// A group that no machine has.
pub const GROUP: u32 = 39_990;

/// A UDP socket that a port at `node` can have, of a number that is free.
pub fn free_socket(node: Ipv4Addr) -> Option<UdpSocket> {
    let assigned = FIRST_ASSIGNED_PORT..=LAST_REACHABLE_PORT;
    let mut udp_ports = assigned.filter_map(udp_port::of_port);
    udp_ports.find_map(|port| UdpSocket::bind((node, port)).ok())
}

/// An agent of a test, with its folder and its process. All of it goes with it.
#[derive(Debug)]
pub struct Agent {
    folder: PathBuf,
    /// Words that start the agent, before all options.
    words: Vec<String>,
    options: Vec<String>,
    running: Option<(Child, BufReader<ChildStderr>)>,
}

impl Agent {
    /// An agent with these options besides the necessary ones, and with tables of files; it serves interface lo.
    pub fn fake(options: &[&str]) -> Self {
        let words = [text(&program("bcld-fake"))];
        let options = [&["--interface", "lo"], options].concat();
        Self::start_as(words.into(), &options)
    }

    /// `bcld` in a network namespace, with these options.
    pub fn inside(namespace: &str, options: &[&str]) -> Self {
        Self::of(&program("bcld-kernel"), namespace, options).expect("the agent gets ready")
    }

    /// A `bcld` of one's own choice in a network namespace, with these options.
    ///
    /// # Errors
    /// When it does not get ready, with what it says.
    pub fn of(program: &Path, namespace: &str, options: &[&str]) -> io::Result<Self> {
        let mut agent = Self::prepare(words_inside(namespace, program).into(), options);
        agent.try_start()?;
        Ok(agent)
    }

    /// The same as [`inside`](Self::inside), started as systemd does, which waits until it is told that the agent is ready.
    pub fn awaited_inside(namespace: &str, options: &[&str]) -> Self {
        let awaited = ["env", "NOTIFY_SOCKET=@nobody-of-bcl"].map(str::to_owned);
        let words = awaited
            .into_iter()
            .chain(words_inside(namespace, &program("bcld-kernel")));
        Self::start_as(words.collect(), options)
    }

    fn start_as(words: Vec<String>, options: &[&str]) -> Self {
        let mut agent = Self::prepare(words, options);
        agent.start();
        agent
    }

    /// Its folder, and how it is to be started.
    fn prepare(words: Vec<String>, options: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // A test that was killed, whose process had the same number, may have left some.
        let folder = loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("bcl-test-agent-{}-{number}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            match fs::create_dir(&folder) {
                Ok(()) => break folder,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => panic!("a temporary folder can be made: {error}"),
            }
        };
        Self {
            folder,
            words,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            running: None,
        }
    }

    /// The command of the agent, with all options.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
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

    /// Options that keep it in its folder.
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
        self.try_start().expect("the agent gets ready");
    }

    fn try_start(&mut self) -> io::Result<()> {
        let mut child = self.command().spawn()?;
        let stderr = child.stderr.take().expect("it is a pipe");
        let mut stderr = BufReader::new(stderr);
        let mut said = String::new();
        let mut line = 0;
        while !said[line..].contains("ready at") {
            line = said.len();
            if stderr.read_line(&mut said)? == 0 {
                let status = child.wait()?;
                return Err(io::Error::other(format!("it has ended, {status}: {said}")));
            }
        }
        self.running = Some((child, stderr));
        Ok(())
    }

    /// Kills the agent.
    pub fn kill(&mut self) {
        let (mut child, _) = self.running.take().expect("it runs");
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }

    /// Has the agent end by itself.
    pub fn stop(&mut self) -> ExitStatus {
        let (mut child, _) = self.running.take().expect("it runs");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        child.wait().expect("it ends")
    }

    /// Has the agent end by itself, and returns what it has written since it was ready.
    pub fn last_words(&mut self) -> String {
        let (_, stderr) = self.running.as_mut().expect("it runs");
        let stderr = stderr.get_ref().as_fd().try_clone_to_owned();
        let stderr = stderr.expect("there are descriptors");
        self.stop();
        let mut words = String::new();
        let read = fs::File::from(stderr).read_to_string(&mut words);
        read.expect("it writes text");
        words
    }

    /// Lets no file that it writes be longer.
    pub fn limit_files(&self, bytes: Option<u64>) {
        self.limit(Resource::Fsize, bytes);
    }

    /// Lets it have no descriptor more, or as many as it can use.
    pub fn limit_descriptors(&self, is_limited: bool) {
        let (child, _) = self.running.as_ref().expect("it runs");
        let open = names(Path::new(&format!("/proc/{}/fd", child.id())));
        let first_free = (0..).find(|number| !open.contains(&u64::to_string(number)));
        self.limit(
            Resource::Nofile,
            first_free.filter(|_| is_limited).or(Some(1024)),
        );
    }

    fn limit(&self, resource: Resource, current: Option<u64>) {
        let (child, _) = self.running.as_ref().expect("it runs");
        let pid = rustix::process::Pid::from_child(child);
        let maximum = getrlimit(resource).maximum;
        let limit = Rlimit { current, maximum };
        prlimit(Some(pid), resource, limit).expect("a soft limit can be set");
    }

    /// The agent's socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("agent.sock")
    }

    /// What it tells of itself.
    pub fn status(&self) -> Status {
        let line = bcl_agent_client::Agent::connect_to(&self.socket()).expect("it listens");
        line.status().expect("it answers")
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
    pub fn forge(&self, entry: &str, content: &str) {
        fs::write(self.pins().join(entry), content).expect("it can be written");
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
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some((mut child, _)) = self.running.take() {
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

/// The group whose users an agent of a test serves: as another user than root the own one.
pub fn group() -> u32 {
    match is_root() {
        true => GROUP,
        false => rustix::process::getegid().as_raw(),
    }
}

fn words_inside(namespace: &str, program: &Path) -> [String; 3] {
    let net = format!("--net=/run/netns/{namespace}");
    ["nsenter".to_owned(), net, text(program)]
}

fn text(path: &Path) -> String {
    path.display().to_string()
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
