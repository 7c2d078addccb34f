//! The command as its users have it: a real process, in a socket folder of its own.
#![allow(dead_code, reason = "each test program uses some of this")]

pub mod findings;

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// What hangs is ended after this long; nothing here takes a hundredth of it on a quiet machine.
const WATCHDOG: Duration = Duration::from_secs(120);

/// Takes a host and a command as ssh does; any host is this one, as long as it has a name that is known.
const SHELL: &str = "#!/bin/sh\n\
    case $1 in left | right | middle) ;; *) echo \"no host $1\" >&2; exit 255 ;; esac\n\
    shift\n\
    echo 'Welcome!'\n\
    exec sh -c \"$*\"\n";

/// A socket folder, and commands that meet in it.
pub struct Node {
    folder: TempDir,
}

/// A test that fails must not leave processes behind that burn cores for ever.
fn die_with_the_test(command: &mut Command) {
    // SAFETY: prctl is a plain system call, allowed between fork and exec.
    unsafe {
        command.pre_exec(
            || match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            },
        );
    }
}

impl Node {
    pub fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
        }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `bcl` with these arguments; its streams are pipes.
    pub fn bcl(&self, arguments: &[&str]) -> Command {
        let mut command = self.outside(env!("CARGO_BIN_EXE_bcl"));
        command.args(arguments);
        command
    }

    /// Another program with the same surroundings.
    pub fn outside(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("BCL_DIR", self.folder());
        for name in [
            "BCL_JOB_KEY",
            "BCL_NODE",
            "BCL_NODES",
            "BCL_NODES_TEXT",
            "BCL_LAUNCHER",
            "BCL_COPY",
            "BCL_STREAMS",
            "BCL_LAUNCH_FD",
        ] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        die_with_the_test(&mut command);
        command
    }

    /// Runs `bcl` to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        finish(self.bcl(arguments).spawn().unwrap())
    }

    /// Runs `bcl`, which has to succeed, and returns what it prints.
    pub fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Two processes that exchange messages until they are stopped. The one that is returned has begun to measure.
    pub fn endless_perf(&self) -> Child {
        let arguments = "perf latency --size 8 --iterations 100000000000 --wait adaptive";
        let arguments: Vec<_> = arguments.split(' ').collect();
        let mut child = self.bcl(&arguments).spawn().unwrap();
        await_line(&mut child);
        child
    }

    /// A remote shell for `--launcher` and `BCL_LAUNCHER` that needs no other host.
    pub fn shell(&self) -> PathBuf {
        let shell = self.folder().join("shell");
        fs::write(&shell, SHELL).unwrap();
        fs::set_permissions(&shell, Permissions::from_mode(0o755)).unwrap();
        shell
    }

    /// The names of ports in the folder.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains(':')).collect()
    }

    /// Waits until so many ports are open.
    pub fn await_ports(&self, count: usize) {
        eventually("the ports are open", || self.names().len() >= count);
    }
}

/// Reads a line of what a process prints, byte by byte, so that the rest is left for others.
pub fn await_line(child: &mut Child) -> String {
    let stdout = child.stdout.as_mut().unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while stdout.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

/// Everything that a process printed and how it ended, in one text.
pub fn text(output: &Output) -> String {
    format!(
        "{}\nstdout: {}\nstderr: {}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The end of a process, which is killed if it hangs.
pub fn finish(child: Child) -> Output {
    let pid = child.id();
    let (done, wait) = std::sync::mpsc::channel();
    let watchdog = std::thread::spawn(move || {
        if wait.recv_timeout(WATCHDOG).is_err() {
            signal(pid, libc::SIGKILL);
        }
    });
    let output = child.wait_with_output().unwrap();
    let _ = done.send(());
    watchdog.join().unwrap();
    assert!(!is_watchdog(output.status), "it hung: {}", text(&output));
    output
}

fn is_watchdog(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(libc::SIGKILL)
}

/// Sends a signal.
pub fn signal(pid: u32, signal: libc::c_int) {
    // SAFETY: kill touches no memory.
    assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0);
}

/// Whether a process is there and not just waiting to be reaped.
pub fn is_running(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

/// Whether a process has done all it had to do, and waits for more.
pub fn is_asleep(pid: u32) -> bool {
    state(pid) == Some('S')
}

/// Whether a process was stopped, and waits to be told to go on.
pub fn is_stopped(pid: u32) -> bool {
    state(pid) == Some('T')
}

/// As the kernel has it: `R`, `S`, `Z`...; none if there is no such process.
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

/// The children of a process.
pub fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

/// Waits for something that has to come.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + WATCHDOG;
    while !is_so() {
        assert!(Instant::now() < deadline, "in vain waited for: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
