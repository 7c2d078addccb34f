//! An agent of one's own, and programs that ask it.

use std::io::{BufRead, BufReader, Write};
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use bcl_agent_client::Key;
use bcl_agent_client::message::{Answer, MAX_BYTES, Request, read, write};
use bcl_node::fdpass;
use bcl_testing::PATIENCE;
use bcl_testing::agent::Agent;
pub use bcl_testing::agent::{GROUP, group, is_root};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// An agent, and the programs that a test runs beside it.
pub struct Lab(Agent);

impl Lab {
    /// An agent with these options besides the necessary ones, and with tables of files.
    pub fn new(options: &[&str]) -> Self {
        Self(Agent::fake(options))
    }

    /// `bcld` in a network namespace, on these interfaces.
    pub fn inside(namespace: &str, interfaces: &[&str]) -> Self {
        let named = interfaces.iter().flat_map(|name| ["--interface", name]);
        Self(Agent::inside(namespace, &named.collect::<Vec<_>>()))
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
        let line = self.dial();
        line.is_welcome();
        line
    }

    /// A connection to the agent, by hand, which has not been let in yet.
    pub fn dial(&self) -> Line {
        let (socket, address) = self.telephone();
        rustix::net::connect(&socket, &address).expect("the agent listens");
        Line(socket)
    }

    /// The same that another process has made, which comes with it: the connection outlives that.
    pub fn dial_as_another(&self) -> (Line, Child) {
        let (socket, address) = self.telephone();
        let number = socket.as_raw_fd();
        let connect = move || {
            // SAFETY: the child has inherited it, and it stays open until the child runs another program.
            let socket = unsafe { BorrowedFd::borrow_raw(number) };
            Ok(rustix::net::connect(socket, &address)?)
        };
        let mut command = Command::new("sleep");
        // SAFETY: between fork and exec it makes one system call, and no memory.
        let command = unsafe { command.arg("600").pre_exec(connect) };
        let child = command.spawn().expect("the agent listens");
        (Line(socket), child)
    }

    /// A socket, and where to connect it to.
    fn telephone(&self) -> (OwnedFd, SocketAddrUnix) {
        let socket = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .expect("there are Unix sockets");
        let address = SocketAddrUnix::new(self.socket()).expect("it is a path");
        (socket, address)
    }
}

impl Deref for Lab {
    type Target = Agent;
    fn deref(&self) -> &Agent {
        &self.0
    }
}

impl DerefMut for Lab {
    fn deref_mut(&mut self) -> &mut Agent {
        &mut self.0
    }
}

/// For tests that have to become another user.
pub fn skips() -> bool {
    if !is_root() {
        eprintln!("nothing was checked: this test needs root");
    }
    !is_root()
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
    /// The agent says that it is ready.
    pub fn is_welcome(&self) {
        let answer = self.hear();
        assert!(matches!(answer, Some(Answer::Ready { version: 1, .. })));
    }

    /// Says anything. False if the agent has hung up.
    pub fn say(&self, datagram: &[u8]) -> bool {
        fdpass::send(&self.0, datagram, &[]).is_ok()
    }

    /// Asks for a port at a socket, and hears.
    pub fn open(&self, socket: &impl AsFd) -> Option<Answer> {
        let request = Request::Open {
            ring_bytes: Some(65_536),
            secret: Key([1; 32]),
        };
        let datagram = write(&request).expect("it is short");
        fdpass::send(&self.0, &datagram, &[socket.as_fd()]).expect("the agent listens");
        self.hear()
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
        let mut buffer = [0; MAX_BYTES];
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
