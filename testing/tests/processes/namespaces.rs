//! Two processes that share nothing but the socket folder, as two containers do.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use bcl::OpError;
use bcl_testing::World;
use bcl_testing::peer::{Peer, command, prepare};

/// In pid, ipc and network namespaces of its own, and with a /dev/shm of 64 KiB; `None` if we may not.
fn contained(world: &World) -> Option<Peer> {
    let inner = command(world.folder(), &["obey"]);
    let mut outer = Command::new("unshare");
    let script = "mount -t tmpfs -o size=64k tmpfs /dev/shm && exec \"$0\" obey";
    outer
        .args([
            "--pid",
            "--fork",
            "--kill-child",
            "--ipc",
            "--net",
            "--mount",
            "--mount-proc",
        ])
        .args(["sh", "-c", script])
        .arg(inner.get_program())
        .envs(
            inner
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        )
        .process_group(0);
    let tried = Command::new("unshare")
        .args([
            "--pid",
            "--fork",
            "--ipc",
            "--net",
            "--mount",
            "--mount-proc",
            "true",
        ])
        .status();
    if !tried.is_ok_and(|status| status.success()) {
        println!("namespaces cannot be made here (not root?): nothing was checked");
        return None;
    }
    outer
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    Some(Peer::spawn(outer))
}

/// SEM-1.5: it works, and both say why there is no single copy if there is none.
#[test]
fn a_shared_folder_is_enough() {
    let world: World = World::new();
    fs::create_dir_all(world.folder()).expect("a folder can be made");
    let Some(mut peer) = contained(&world) else {
        return;
    };
    let other = contained(&world).expect("what went once goes twice");
    let us = world.open();
    peer.tell(&format!("meet {}", us.address));
    us.message();
    peer.tell(&format!("meet {}", other.address));
    let copy = peer.ask("copy");
    assert!(
        copy.contains("not visible from this pid namespace"),
        "{copy}"
    );
    let len = 1 << 20;

    us.port().post(1, vec![0; len], 1).unwrap();
    peer.tell(&format!("send {} 1 {len} heap", us.address));
    peer.order("serve 1000");
    let (result, found, bytes) = us.received(1);
    assert_eq!((result, found), (Ok(()), len as u64));
    bcl_testing::contents::check(len as u64, &bytes);
    assert!(peer.line().contains("sent"));
}

/// A key of a job's own.
const KEY: &str = "0808080808080808080808080808080808080808080808080808080808080808";

/// A process of this user in a user namespace without a map, where every user is "nobody"; `None` if we may not.
fn unmapped(world: &World, uid: u32, key: Option<&str>) -> Option<Peer> {
    unmapped_command(world, uid, key).map(Peer::spawn)
}

fn unmapped_command(world: &World, uid: u32, key: Option<&str>) -> Option<Command> {
    let inner = command(world.folder(), &["obey"]);
    let mut outer = Command::new("setpriv");
    let (reuid, regid) = (format!("--reuid={uid}"), format!("--regid={uid}"));
    let demote = [
        reuid.as_str(),
        regid.as_str(),
        "--clear-groups",
        "unshare",
        "--user",
    ];
    let tried = Command::new("setpriv").args(demote).arg("true").status();
    if !tried.is_ok_and(|status| status.success()) {
        println!("user namespaces cannot be made here (not root?): nothing was checked");
        return None;
    }
    outer.args(demote).arg(inner.get_program()).arg("obey");
    prepare(&mut outer, world.folder());
    // Others can connect to its socket, whatever it says to them.
    outer
        .env("BCL_ALLOW_UIDS", "4242")
        .env_remove("BCL_JOB_KEY");
    if let Some(key) = key {
        outer.env("BCL_JOB_KEY", key);
    }
    Some(outer)
}

/// SEM-2.2: a folder of another user, who looks the same, is not our own.
#[test]
fn a_folder_of_a_stranger_who_looks_the_same_is_not_trusted() {
    let world: World = World::new();
    fs::create_dir_all(world.folder()).expect("a folder can be made");
    let Some(mut command) = unmapped_command(&world, 4001, Some(KEY)) else {
        return;
    };
    chown(world.folder(), Some(4002), None).expect("root may give it away");
    for (mode, is_trusted) in [(0o777, false), (0o1777, true)] {
        fs::set_permissions(world.folder(), fs::Permissions::from_mode(mode)).expect("root may");
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let output = command.output().expect("it starts");
        let says = String::from_utf8_lossy(&output.stderr);
        assert_eq!(!says.contains("is not sticky"), is_trusted, "{says}");
    }
}

/// SEM-2.2: two users whom their namespaces do not map look the same, to each other and to themselves, and are not.
#[test]
fn strangers_who_look_the_same_need_a_key() {
    let world: World = World::new();
    fs::create_dir_all(world.folder()).expect("a folder can be made");
    fs::set_permissions(world.folder(), fs::Permissions::from_mode(0o1777)).expect("it is ours");
    let Some(mut first) = unmapped(&world, 4001, None) else {
        return;
    };
    let stranger = unmapped(&world, 4002, None).expect("what went once goes twice");
    let twin = unmapped(&world, 4001, None).expect("what went twice goes thrice");
    for other in [&stranger, &twin] {
        let answer = first.ask(&format!("meet {}", other.address));
        assert!(answer.contains("NotAllowed"), "{answer}");
    }
    assert!(OpError::NotAllowed.to_string().contains("BCL_JOB_KEY_FILE"));
    let mut keyed = unmapped(&world, 4001, Some(KEY)).expect("as before");
    let other = unmapped(&world, 4002, Some(KEY)).expect("as before");
    keyed.tell(&format!("meet {}", other.address));
    let answer = keyed.ask(&format!("meet {}", first.address));
    assert!(answer.contains("NotAllowed"), "{answer}");
    let foreign = unmapped(&world, 4002, Some(&KEY.replace('8', "9"))).expect("as before");
    let answer = keyed.ask(&format!("meet {}", foreign.address));
    assert!(answer.contains("KeyMismatch"), "{answer}");
}
