//! Other users: children with limits of their own.

use std::os::unix::process::CommandExt;
use std::time::Duration;

use bcl::{Event, OpError};
use bcl_testing::World;
use bcl_testing::cgroup::MemoryGroup;
use bcl_testing::peer::{Peer, command};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};

/// Who anybody may become.
const NOBODY: u32 = 65534;

/// SEM-9.2: a peer whose table is full refuses new connections, and keeps the ones it has.
#[test]
fn a_full_descriptor_table_is_told() {
    let world: World = World::new();
    let us = world.open();
    let mut command = command(world.folder(), &["obey"]);
    // SAFETY: setrlimit is safe in a forked child.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit {
                rlim_cur: 24,
                rlim_max: 24,
            };
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            Ok(())
        })
    };
    let mut peer = Peer::spawn(command);
    peer.tell(&format!("meet {}", us.address));
    us.message();
    let others: Vec<_> = (0..10).map(|_| world.open()).collect();
    let results: Vec<_> = others
        .iter()
        .map(|other| {
            other.port().send_system(peer.address, b"x", 1).unwrap();
            other.sent(1).0
        })
        .collect();
    assert!(
        results.contains(&Err(OpError::NoDescriptors)),
        "{results:?}"
    );
    us.port()
        .send_system(peer.address, b"still here", 2)
        .unwrap();
    assert_eq!(us.sent(2).0, Ok(()));
}

/// SEM-9.2: a program that takes each descriptor as it becomes free leaves none to accept with; each caller is told.
#[test]
fn each_caller_is_told_when_the_program_takes_what_is_free() {
    let world: World = World::new();
    let mut peer = Peer::start(world.folder());
    peer.tell("grab 64");
    for _ in 0..20 {
        assert_eq!(first_send(&world, &peer), Err(OpError::NoDescriptors));
    }
}

/// SEM-9.2: a limit can be set below the numbers of descriptors that are open.
#[test]
fn each_caller_is_told_when_the_limit_is_below_what_is_open() {
    let world: World = World::new();
    let mut peer = Peer::start(world.folder());
    peer.tell("descriptors 2");
    for _ in 0..3 {
        assert_eq!(first_send(&world, &peer), Err(OpError::NoDescriptors));
    }
    peer.tell("descriptors 64");
    assert_eq!(first_send(&world, &peer), Ok(()));
}

/// SEM-9.2: where nobody can even be refused, no core is burnt; whoever called is let in once that is possible.
#[test]
fn a_caller_who_cannot_be_refused_waits_and_burns_no_core() {
    let world: World = World::new();
    let mut peer = Peer::start(world.folder());
    peer.tell("descriptors 0");
    let other = world.open();
    other.port().send_system(peer.address, b"x", 1).unwrap();
    let before = service_ticks(&peer);
    other.serve_for(Duration::from_millis(1000));
    // A hundred are a second.
    let burnt = service_ticks(&peer) - before;
    assert!(burnt < 10, "{burnt} ticks");
    peer.tell("descriptors 64");
    assert_eq!(other.sent(1).0, Ok(()));
    assert_eq!(first_send(&world, &peer), Ok(()));
}

/// SEM-9.2: a caller whom nobody ever answers does not wait for ever; one whose peer is stopped does (SEM-7.3).
#[test]
fn a_caller_who_is_never_answered_is_told() {
    let world: World = World::new();
    let stopped = Peer::start(world.folder());
    stopped.stop();
    let us = world.open();
    us.port().send_system(stopped.address, b"x", 1).unwrap();
    // It looks like a port, and this process never accepts.
    let deaf: bcl::Address = "127.0.0.1:77".parse().unwrap();
    let flags = SocketFlags::CLOEXEC;
    let kind = SocketType::SEQPACKET;
    let listener = socket_with(AddressFamily::UNIX, kind, flags, None).unwrap();
    let name = world.folder().join(deaf.to_string());
    bind(&listener, &SocketAddrUnix::new(name).unwrap()).unwrap();
    listen(&listener, 8).unwrap();
    us.port().send_system(deaf, b"x", 2).unwrap();
    // The watchdog of all tests waits for longer than one message's patience.
    let told = loop {
        us.serve_for(Duration::from_millis(100));
        match us.find(|event| matches!(event, Event::Sent { .. })) {
            Some(Event::Sent { cookie, result, .. }) => break (cookie, result),
            _ => continue,
        }
    };
    assert_eq!(told, (2, Err(OpError::NoDescriptors)));
    us.serve_for(Duration::from_millis(1500));
    let sent = us.find(|event| matches!(event, Event::Sent { .. }));
    assert!(sent.is_none(), "{sent:?}");
    stopped.signal(libc::SIGCONT);
    assert_eq!(us.sent(1).0, Ok(()));
}

/// What a port that has just been opened hears of its first message.
fn first_send(world: &World, peer: &Peer) -> Result<(), OpError> {
    let other = world.open();
    other.port().send_system(peer.address, b"x", 1).unwrap();
    other.sent(1).0
}

/// How long the peer's service thread has worked.
fn service_ticks(peer: &Peer) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", peer.pid())).unwrap();
    let stats = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")));
    let service = stats
        .map_while(Result::ok)
        .find(|stat| stat.contains("(bcl-service)"));
    let stat = service.expect("it has a service thread");
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// SEM-9.2: a process whose address space is full is told so, keeps the peers it has, and works as before once
/// there is room.
#[test]
fn exhausted_memory_is_told_and_what_is_there_goes_on() {
    let world: World = World::new();
    let (friend, stranger) = world.pair();
    let mut peer = Peer::start(world.folder());
    peer.tell(&format!("meet {}", friend.address));
    friend.message();
    peer.tell("memory exhausted");

    let met = peer.ask(&format!("meet {}", stranger.address));
    assert!(met.contains("NoMemory"), "{met}");
    let refusal = peer.ask("dma 4194304");
    assert!(refusal.contains("memory"), "{refusal}");
    peer.tell(&format!("meet {}", friend.address));
    friend.message();
    // The others reach whom they know, and are told if there is no room for them.
    friend.port().send_system(peer.address, b"x", 1).unwrap();
    assert_eq!(friend.sent(1).0, Ok(()));
    stranger.port().send_system(peer.address, b"x", 1).unwrap();
    assert_eq!(stranger.sent(1).0, Err(OpError::NoMemory));

    peer.tell("memory free");
    peer.tell("dma 4194304");
    peer.tell(&format!("meet {}", stranger.address));
    stranger.message();
}

/// SEM-6.2: what a memory cgroup has not left is an error, for one large buffer and for many connections, and nobody in
/// the group is killed for it.
#[test]
fn a_memory_cgroup_is_not_filled_up() {
    const LIMIT_BYTES: u64 = 32 << 20;
    let world: World = World::new();
    let Some(group) = MemoryGroup::new(LIMIT_BYTES) else {
        return;
    };
    // Ends before the group does.
    let mut peer = Peer::start(world.folder());
    group.take(peer.pid()).expect("a child can be moved");
    let refusal = peer.ask("dma 67108864");
    assert!(
        refusal.contains("memory cgroup") && refusal.contains(&LIMIT_BYTES.to_string()),
        "{refusal}"
    );
    peer.tell("dma 16777216");
    // What it keeps adds up.
    let mut kept = 0;
    let refusal = loop {
        match peer.ask("keep 1048576").as_str() {
            "ok" => kept += 1,
            refusal => break refusal.to_owned(),
        }
        assert!(kept < 32, "it keeps all of its limit");
    };
    assert!(kept > 16 && refusal.contains("memory cgroup"), "{refusal}");
    let others: Vec<_> = (0..32).map(|_| world.open()).collect();
    let answers: Vec<_> = others
        .iter()
        .map(|other| peer.ask(&format!("meet {}", other.address)))
        .collect();
    let refused = answers.iter().find(|answer| *answer != "ok");
    assert!(refused.is_some_and(|answer| answer.contains("NoMemory")));
}

/// SEM-9.1: memory that is shared is a file to the kernel; where files are to be small, that ends no process.
#[test]
fn a_limit_of_file_sizes_ends_no_process() {
    let world: World = World::new();
    let (one, other) = world.pair();
    let mut peer = Peer::start(world.folder());
    peer.tell("files small");
    let refusal = peer.ask("dma 4194304");
    assert!(refusal.contains("ulimit -f"), "{refusal}");
    let met = peer.ask(&format!("meet {}", one.address));
    assert!(met.contains("NoMemory"), "{met}");
    // The segment is made by whoever calls.
    other.port().send_system(peer.address, b"x", 1).unwrap();
    assert_eq!(other.sent(1).0, Ok(()));
    peer.tell("files large");
    peer.tell("dma 4194304");
    peer.tell(&format!("meet {}", one.address));
    one.message();
}

/// SEM-9.2: the kernel limits how many descriptors of a user without privileges are on their way in sockets, whoever of
/// its processes sent them. A connection waits until others have arrived, whichever side begins; not for ever.
#[test]
fn descriptors_on_their_way_are_waited_for() {
    const LIMIT: u64 = 48;
    let world: World = World::new();
    // SAFETY: asks for a number.
    let is_root = unsafe { libc::geteuid() } == 0;
    let others = if is_root { vec![NOBODY] } else { Vec::new() };
    let us = world.open_with(world.options().allow_uids(others.clone()));
    let mut command = command(world.folder(), &["obey"]);
    if is_root {
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
        command.env("BCL_ALLOW_UIDS", "0");
    }
    // SAFETY: setrlimit is safe in a forked child.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit {
                rlim_cur: LIMIT,
                rlim_max: LIMIT,
            };
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            Ok(())
        })
    };
    let mut peer = Peer::spawn(command);

    peer.tell("fly 300");
    peer.tell(&format!("meet {}", us.address));
    us.message();

    let stranger = || world.open_with(world.options().allow_uids(others.clone()));
    let other = stranger();
    peer.tell("fly 300");
    other.port().send_system(peer.address, b"x", 1).unwrap();
    assert_eq!(other.sent(1).0, Ok(()));

    let third = stranger();
    peer.tell("fly 60000");
    let met = peer.ask(&format!("meet {}", third.address));
    assert!(met.contains("NoDescriptors"), "{met}");
    let fourth = stranger();
    fourth.port().send_system(peer.address, b"x", 1).unwrap();
    assert_eq!(fourth.sent(1).0, Err(OpError::NoDescriptors));
}

/// SEM-2.2: needs root, to become somebody else.
#[test]
fn other_users_are_refused_unless_allowed() {
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        println!("not root: nobody else to be, nothing was checked");
        return;
    }
    for allowed in [false, true] {
        let world: World = World::new();
        let options = world.options();
        let us = world.open_with(if allowed {
            options.allow_uids(vec![NOBODY])
        } else {
            options
        });
        let mut command = command(world.folder(), &["obey"]);
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
        command.env("BCL_ALLOW_UIDS", "0");
        // The test's folder may be closed to others; the program comes by a descriptor.
        let mut peer = Peer::spawn(command);
        let met = peer.ask(&format!("meet {}", us.address));
        us.port().send_system(peer.address, b"x", 1).unwrap();
        if allowed {
            us.serve();
            assert_eq!((met.as_str(), us.sent(1).0), ("ok", Ok(())));
        } else {
            assert!(met.contains("NotAllowed"), "{met}");
            assert_eq!(us.sent(1).0, Err(OpError::NotAllowed));
        }
    }
}
