//! Names in a rendezvous folder.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use bcl_node::{Bound, ConnectError, Folder, FolderError};
use bcl_types::{Address, NodeId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;

mod common;

const NODE: NodeId = NodeId::LOOPBACK;

fn address(port: u16) -> Address {
    Address { node: NODE, port }
}

fn temporary() -> (TempDir, Folder) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::open(temporary.path().join("bcl")).unwrap();
    (temporary, folder)
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn has_connection_waiting(bound: &Bound) -> bool {
    let listener = bound.listener();
    poll(
        &mut [PollFd::new(&listener, PollFlags::IN)],
        Some(&Timespec::default()),
    ) == Ok(1)
}

/// Runs `action` in a forked child and returns its result.
fn in_fork(action: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child has one thread, so `action` must take no lock but that of the allocator,
    // which the C library keeps usable; it leaves without running anything of the test program's.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(i32::from(!action())),
            pid => {
                assert!(pid > 0);
                let mut status = 0;
                assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
                libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
            }
        }
    }
}

#[test]
fn a_missing_folder_is_made_for_everybody() {
    let (_temporary, folder) = temporary();
    assert_eq!(mode(folder.path()), 0o1777);
    assert!(Folder::open(folder.path()).is_ok());
}

#[test]
fn only_a_real_directory_will_do() {
    let (temporary, folder) = temporary();
    let link = temporary.path().join("link");
    symlink(folder.path(), &link).unwrap();
    let file = temporary.path().join("file");
    fs::write(&file, "").unwrap();
    let missing_parent = temporary.path().join("no/such/folder");
    assert!(matches!(
        Folder::open(link),
        Err(FolderError::NotADirectory { .. })
    ));
    assert!(matches!(
        Folder::open(file),
        Err(FolderError::NotADirectory { .. })
    ));
    assert!(matches!(
        Folder::open(missing_parent),
        Err(FolderError::System { .. })
    ));
}

#[test]
fn a_strangers_folder_must_be_sticky() {
    let (_temporary, folder) = temporary();
    if !rustix::process::geteuid().is_root() {
        return; // Only root can make a stranger's folder.
    }
    chown(folder.path(), Some(12345), None).unwrap();
    assert!(Folder::open(folder.path()).is_ok());
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(
        Folder::open(folder.path()),
        Err(FolderError::Untrusted { owner: 12345, .. })
    ));
}

#[test]
fn a_path_that_sockets_cannot_have_is_refused_at_once() {
    let temporary = tempfile::tempdir().unwrap();
    let long = temporary.path().join("x".repeat(100));
    assert!(matches!(
        Folder::open(long),
        Err(FolderError::PathTooLong { .. })
    ));
}

#[test]
fn a_number_is_given_once() {
    let (_temporary, folder) = temporary();
    let first = folder.bind(NODE, 7, false).unwrap();
    assert_eq!(first.address(), address(7));
    assert!(matches!(
        folder.bind(NODE, 7, false),
        Err(FolderError::PortInUse { address: at, .. }) if at == address(7)
    ));
    first.unbind();
    assert!(folder.list().unwrap().is_empty());
    assert!(folder.bind(NODE, 7, false).is_ok());
}

#[test]
fn number_zero_is_refused() {
    let (_temporary, folder) = temporary();
    assert!(matches!(
        folder.bind(NODE, 0, false),
        Err(FolderError::InvalidNumber)
    ));
}

#[test]
fn assigned_numbers_are_high_and_differ() {
    let (_temporary, folder) = temporary();
    let bound: Vec<Bound> = (0..50)
        .map(|_| folder.bind_any(NODE, false, |_| true).unwrap())
        .collect();
    let mut ports: Vec<u16> = bound.iter().map(|bound| bound.address().port).collect();
    ports.sort();
    ports.dedup();
    assert_eq!(ports.len(), 50);
    assert!(ports[0] >= 1024);
}

#[test]
fn other_users_are_let_in_only_on_demand() {
    let (_temporary, folder) = temporary();
    let _private = folder.bind(NODE, 1, false).unwrap();
    let _public = folder.bind(NODE, 2, true).unwrap();
    assert_eq!(mode(folder.path().join("127.0.0.1:1")), 0o600);
    assert_eq!(mode(folder.path().join("127.0.0.1:2")), 0o666);
}

/// Whatever the umask takes away, a user's own processes find each other; as root rights are not asked for.
#[test]
fn no_umask_keeps_ones_own_processes_out() {
    let temporary = tempfile::tempdir().unwrap();
    fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o777)).unwrap();
    for umask in [0o200, 0o277, 0o777, 0o022] {
        let path = temporary.path().join(format!("{umask:o}"));
        assert!(
            in_fork(|| {
                // SAFETY: changes only the user and the umask of this child.
                let is_ready = unsafe {
                    libc::umask(umask);
                    libc::geteuid() != 0 || libc::setresuid(12345, 12345, 12345) == 0
                };
                let folder = Folder::open(&path).unwrap();
                let private = folder.bind(NODE, 1, false).unwrap();
                let public = folder.bind(NODE, 2, true).unwrap();
                is_ready
                    && [1, 2].map(|port| folder.connect(address(port)).is_ok()) == [true; 2]
                    && has_connection_waiting(&private)
                    && has_connection_waiting(&public)
            }),
            "umask {umask:o}"
        );
        assert_eq!(mode(&path), 0o1777);
    }
}

#[test]
fn numbers_that_are_taken_elsewhere_are_not_assigned() {
    let (_temporary, folder) = temporary();
    let bind = || folder.bind_any(NODE, false, |address| address.port % 2000 == 0);
    let mut bound: Vec<Bound> = (0..4).map(|_| bind().unwrap()).collect();
    bound.sort_by_key(|bound| bound.address());
    let numbers: Vec<u16> = bound.iter().map(|bound| bound.address().port).collect();
    assert_eq!(numbers, [2000, 4000, 6000, 8000]);
    let text = bind().unwrap_err().to_string();
    for part in ["from 1024 to 8191", ": 4 are in use in", "of 7164 by other"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn another_user_is_told_that_it_is_not_allowed() {
    let (temporary, folder) = temporary();
    fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let private = folder.bind(NODE, 1, false).unwrap();
    let _public = folder.bind(NODE, 2, true).unwrap();
    if !rustix::process::geteuid().is_root() {
        return; // Only root can become another user.
    }
    let path = folder.path().to_owned();
    assert!(in_fork(|| {
        // SAFETY: changes only the user of this child.
        let is_other = unsafe { libc::setresuid(12345, 12345, 12345) } == 0;
        // The parent's own is closed here.
        let folder = Folder::open(&path).unwrap();
        is_other
            && matches!(
                folder.connect(address(1)),
                Err(ConnectError::NotAllowed { .. })
            )
            && folder.connect(address(2)).is_ok()
            && folder
                .list()
                .is_ok_and(|ports| ports.iter().all(|(_, is_alive)| *is_alive))
            && matches!(folder.sweep(), Ok(0))
    }));
    drop(private);
}

#[test]
fn connecting_reaches_the_listener() {
    let (_temporary, folder) = temporary();
    let bound = folder.bind(NODE, 7, false).unwrap();
    assert!(!has_connection_waiting(&bound));
    let client = folder.connect(address(7)).unwrap();
    let server = rustix::net::accept(bound.listener()).unwrap();
    bcl_node::fdpass::send(&client, b"hello", &[]).unwrap();
    let mut buffer = [0; 16];
    assert_eq!(
        bcl_node::fdpass::recv(&server, &mut buffer)
            .unwrap()
            .len_bytes,
        5
    );
}

#[test]
fn nobody_is_there_before_and_after() {
    let (_temporary, folder) = temporary();
    let no_port = |result| matches!(result, Err(ConnectError::NoPort { .. }));
    assert!(no_port(folder.connect(address(7))));
    folder.bind(NODE, 7, false).unwrap().unbind();
    assert!(no_port(folder.connect(address(7))));
}

#[test]
fn a_full_backlog_is_busy() {
    let (_temporary, folder) = temporary();
    let bound = folder.bind(NODE, 7, false).unwrap();
    rustix::net::listen(bound.listener(), 0).unwrap();
    let _first = folder.connect(address(7)).unwrap();
    assert!(matches!(
        folder.connect(address(7)),
        Err(ConnectError::Busy { .. })
    ));
}

#[test]
fn looking_at_a_port_does_not_disturb_it() {
    let (_temporary, folder) = temporary();
    let bound = folder.bind(NODE, 7, false).unwrap();
    assert_eq!(folder.list().unwrap(), [(address(7), true)]);
    assert_eq!(folder.sweep().unwrap(), 0);
    assert!(!folder.sweep_one(address(7)).unwrap());
    assert!(!has_connection_waiting(&bound));
}

#[test]
fn files_that_are_no_ports_are_left_alone() {
    let (_temporary, folder) = temporary();
    fs::write(folder.path().join("127.0.0.1:7"), "").unwrap();
    fs::write(folder.path().join("README"), "").unwrap();
    assert!(folder.list().unwrap().is_empty());
    assert_eq!(folder.sweep().unwrap(), 0);
    assert!(!folder.sweep_one(address(7)).unwrap());
    assert!(matches!(
        folder.bind(NODE, 7, false),
        Err(FolderError::PortInUse { .. })
    ));
    assert!(folder.path().join("127.0.0.1:7").exists());
}

/// Leaves the name of port 7 behind, as a process does that is killed: without its drop.
fn leave_stale_name(folder: &Folder) {
    let bound = folder.bind(NODE, 7, false).unwrap();
    let listener = bound.listener().as_raw_fd();
    std::mem::forget(bound);
    // SAFETY: the owner of the descriptor has just been forgotten.
    unsafe { libc::close(listener) };
    // A child that another test is just starting can hold a copy for a moment.
    while folder.list().unwrap() != [(address(7), false)] {
        thread::yield_now();
    }
}

#[test]
fn the_name_of_a_killed_process_is_found_and_replaced() {
    let (_temporary, folder) = temporary();
    for cleaner in [
        |folder: &Folder| assert_eq!(folder.sweep().unwrap(), 1),
        |folder: &Folder| assert!(folder.sweep_one(address(7)).unwrap()),
        |folder: &Folder| folder.bind(NODE, 7, false).unwrap().unbind(),
    ] {
        let role = folder.path().to_str().unwrap();
        let mut child = common::start(common::child("a_child_with_a_port", role));
        assert_eq!(folder.list().unwrap(), [(address(7), true)]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(folder.list().unwrap(), [(address(7), false)]);
        assert!(matches!(
            folder.connect(address(7)),
            Err(ConnectError::NoPort { .. })
        ));
        let survivor = folder.bind(NODE, 8, false).unwrap();
        cleaner(&folder);
        assert_eq!(folder.list().unwrap(), [(survivor.address(), true)]);
    }
}

#[test]
fn a_port_that_only_a_forked_child_keeps_open_is_gone() {
    let (_temporary, folder) = temporary();
    let mut command = common::child(
        "a_child_with_a_port_and_a_child",
        folder.path().to_str().unwrap(),
    );
    // The grandchild stays until this end of the pipe is closed.
    let mut child = common::start({
        command.stdin(std::process::Stdio::piped());
        command
    });
    let stay = child.stdin.take();
    assert!(folder.connect(address(7)).is_ok());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(
        folder.connect(address(7)),
        Err(ConnectError::NoPort { .. })
    ));
    drop(stay);
}

/// Not a test of its own, see [`common::child`].
#[test]
fn a_child_with_a_port_and_a_child() {
    let Some(path) = common::role() else { return };
    let _bound = Folder::open(path).unwrap().bind(NODE, 7, false).unwrap();
    // SAFETY: the new process only waits for the end of its input and leaves.
    let is_grandchild = unsafe { libc::fork() } == 0;
    if !is_grandchild {
        println!("ready");
    }
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    if is_grandchild {
        // SAFETY: leaves without running anything of the test program's.
        unsafe { libc::_exit(0) };
    }
}

/// Not a test of its own, see [`common::child`].
#[test]
fn a_child_with_a_port() {
    let Some(path) = common::role() else { return };
    let _bound = Folder::open(path).unwrap().bind(NODE, 7, false).unwrap();
    println!("ready");
    loop {
        thread::park();
    }
}

#[test]
fn threads_that_race_for_a_stale_name_get_it_once() {
    const THREADS: usize = 4;
    let (_temporary, shared) = temporary();
    for _ in 0..50 {
        leave_stale_name(&shared);
        let (start, end) = (Barrier::new(THREADS), Barrier::new(THREADS));
        let race = |folder: &Folder| {
            start.wait();
            let won = folder.bind(NODE, 7, false);
            end.wait();
            usize::from(won.is_ok())
        };
        // Half of them share an open folder.
        let race_alone = || race(&Folder::open(shared.path()).unwrap());
        let winners: usize = thread::scope(|scope| {
            let threads = [
                scope.spawn(|| race(&shared)),
                scope.spawn(|| race(&shared)),
                scope.spawn(race_alone),
                scope.spawn(race_alone),
            ];
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(winners, 1);
        assert!(shared.list().unwrap().is_empty());
    }
}

#[test]
fn a_forked_child_does_not_take_the_name_away() {
    let (_temporary, folder) = temporary();
    let bound = folder.bind(NODE, 7, false).unwrap();
    let mut inherited = Some(bound);
    assert!(in_fork(|| inherited.take().is_some()));
    assert_eq!(folder.list().unwrap(), [(address(7), true)]);
    drop(inherited);
    assert!(folder.list().unwrap().is_empty());
}

#[test]
fn a_name_that_has_been_replaced_stays() {
    let (_temporary, folder) = temporary();
    let first = folder.bind(NODE, 7, false).unwrap();
    let path = folder.path().join("127.0.0.1:7");
    fs::remove_file(&path).unwrap();
    let _second = folder.bind(NODE, 7, false).unwrap();
    drop(first);
    assert!(fs::symlink_metadata(path).unwrap().file_type().is_socket());
}
