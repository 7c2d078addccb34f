//! Two processes that share nothing but the socket folder, as two containers do.

use std::fs;
use std::os::unix::process::CommandExt;

use bcl_testing::World;
use bcl_testing::peer::{Peer, command};

/// In pid, ipc and network namespaces of its own, and with a /dev/shm of 64 KiB; `None` if we may not.
fn contained(world: &World) -> Option<Peer> {
    let inner = command(world.folder(), &["obey"]);
    let mut outer = std::process::Command::new("unshare");
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
    let tried = std::process::Command::new("unshare")
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
    bcl_testing::random::check(len as u64, &bytes);
    assert!(peer.line().contains("sent"));
}
