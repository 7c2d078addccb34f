//! Processes that a running job starts: `bcl::Job::spawn` under `bcl run`.

mod common;
mod namespaces;

use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

use bcl::job::{Spawn, Spawned};
use bcl::{Address, Event, Job, Port, PortOptions, Which};
use common::{Node, await_line, eventually, finish, is_asleep, is_running, signal, text};
use namespaces::Namespaces;

/// What a test's own program does in a job: `BCL_TEST_PART` says which.
const PART: &str = "BCL_TEST_PART";

fn part() -> Option<String> {
    std::env::var(PART).ok()
}

/// A test of this file as a program.
fn program(test: &str) -> Vec<String> {
    let this = std::env::current_exe().unwrap();
    let words = [this.to_str().unwrap(), "--exact", test, "--nocapture"];
    words.map(str::to_owned).to_vec()
}

/// `bcl run` with options and a test of this file as program.
fn job(node: &Node, options: &[&str], test: &str) -> Command {
    let program = program(test);
    let program: Vec<_> = program.iter().map(String::as_str).collect();
    let mut command = node.bcl(
        &[
            &["run"],
            options,
            &["-x", "BCL_TEST_PART=first", "--"],
            &program,
        ]
        .concat(),
    );
    command.env("BCL_LAUNCHER", node.shell());
    command
}

fn run(node: &Node, options: &[&str], test: &str) -> Output {
    finish(job(node, options, test).spawn().unwrap())
}

/// So many of a test's program, in this part.
fn more(test: &str, part: &str, count: u32) -> Spawn {
    Spawn::new(program(test), count).env(PART, part)
}

fn shell(script: &str, count: u32) -> Spawn {
    Spawn::new(["sh", "-c", script], count)
}

fn this_job() -> Job {
    Job::from_env().unwrap().unwrap()
}

fn all_run(results: &[Spawned]) -> bool {
    results
        .iter()
        .all(|result| result.as_ref().is_ok_and(|child| child.pid > 0))
}

/// Where a spawned process's parent is.
fn parent(job: &mut Job) -> Address {
    let blob = job.parent().unwrap().unwrap();
    String::from_utf8(blob).unwrap().parse().unwrap()
}

/// Sends a message and sees it off.
fn tell(port: &mut Port, to: Address, text: &str) {
    port.send_system(to, text.as_bytes(), 0).unwrap();
    loop {
        if let Some(Event::Sent { result, .. }) = port.wait(Which::Any, None).unwrap() {
            return result.unwrap();
        }
    }
}

/// So many messages, sorted.
fn hear(port: &mut Port, count: usize) -> Vec<String> {
    let mut heard = Vec::new();
    while heard.len() < count {
        if let Some(Event::Message(message)) = port.wait(Which::Recv, None).unwrap() {
            heard.push(String::from_utf8(port.data(&message).to_vec()).unwrap());
            port.release(message).unwrap();
        }
    }
    heard.sort();
    heard
}

#[test]
fn spawned_processes_are_a_group_of_their_own_and_may_spawn_too() {
    let test = "spawned_processes_are_a_group_of_their_own_and_may_spawn_too";
    let Some(part) = part() else {
        let node = Node::new();
        let output = run(&node, &["-n", "2", "--timeout", "100"], test);
        assert!(output.status.success(), "{}", text(&output));
        assert!(node.names().is_empty(), "left: {:?}", node.names());
        return;
    };
    let mut job = this_job();
    let mut port = Port::open().unwrap();
    let own = port.address().to_string();
    match part.as_str() {
        "first" => {
            assert_eq!((job.parent().unwrap(), job.size()), (None, 2));
            if job.rank() == 0 {
                let children = job.spawn(&more(test, "child", 3).blob(own)).unwrap();
                assert!(children.len() == 3 && all_run(&children), "{children:?}");
                // Three children, and a grandchild of each of two.
                let expected = ["0 of 3", "1 of 3", "2 of 3", "grandchild", "grandchild"];
                assert_eq!(hear(&mut port, 5), expected);
            }
            // An exchange of the first group, into which the others' do not mix.
            let rank = job.rank() as u8;
            assert_eq!(job.exchange(&[rank]).unwrap(), [[0], [1]]);
        }
        "child" => {
            let (rank, size) = (job.rank(), job.size());
            let parent = parent(&mut job);
            tell(&mut port, parent, &format!("{rank} of {size}"));
            assert_eq!(job.exchange(&[rank as u8]).unwrap(), [[0], [1], [2]]);
            if rank > 0 {
                let spawn = more(test, "grandchild", 1).blob(parent.to_string());
                assert!(all_run(&job.spawn(&spawn).unwrap()));
            }
        }
        _ => {
            assert_eq!((job.rank(), job.size()), (0, 1));
            let parent = parent(&mut job);
            tell(&mut port, parent, "grandchild");
        }
    }
}

#[test]
fn what_cannot_be_started_is_told_to_the_parent_and_harms_nobody() {
    let test = "what_cannot_be_started_is_told_to_the_parent_and_harms_nobody";
    if part().is_none() {
        let node = Node::new();
        for options in [&["-n", "1"][..], &["--hosts", "left,nowhere", "-n", "1"]] {
            let output = run(&node, options, test);
            assert!(output.status.success(), "{}", text(&output));
        }
        return;
    }
    let mut job = this_job();
    let is_on_hosts = std::env::var_os("BCL_NODE").is_some();
    let here = if is_on_hosts { "left" } else { "localhost" };
    let missing = Spawn::new(["/no/such/program"], 2).host(here);
    let refused = job.spawn(&missing).unwrap();
    assert_eq!(refused.len(), 2);
    for not_started in refused.into_iter().map(Result::unwrap_err) {
        assert_eq!(not_started.status, 127);
        let reason = not_started.to_string();
        assert!(
            reason.contains("cannot start /no/such/program: there is no such program"),
            "{reason}"
        );
    }
    let error = job.spawn(&shell("true", 1).host("elsewhere")).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("elsewhere is not one of the job's hosts"),
        "{error}"
    );
    assert!(job.spawn(&shell("true", 0)).is_err());
    if is_on_hosts {
        let there = job.spawn(&shell("true", 1).host("nowhere")).unwrap();
        let not_started = there[0].clone().unwrap_err();
        assert_eq!(not_started.status, 255);
        assert!(
            not_started.reason.contains("cannot reach host nowhere"),
            "{not_started}"
        );
    }
    assert!(all_run(&job.spawn(&shell("true", 2).host(here)).unwrap()));
}

#[test]
fn processes_are_spawned_on_hosts_of_the_job() {
    let test = "processes_are_spawned_on_hosts_of_the_job";
    let Some(part) = part() else {
        let node = Node::new();
        let Some(hosts) = Namespaces::new(&node) else {
            return;
        };
        let options = [
            "--hosts",
            "left,right:2",
            "-n",
            "1",
            "-x",
            "BCL_TEST_PART=first",
            "--",
        ];
        let program = program(test);
        let program: Vec<_> = program.iter().map(String::as_str).collect();
        let mut job = hosts.job(&node, &[&options[..], &program].concat());
        let output = finish(job.spawn().unwrap());
        assert!(output.status.success(), "{}", text(&output));
        return;
    };
    let mut job = this_job();
    let mut port = options_as_on_a_host_of_its_own().open().unwrap();
    let [left, right] = namespaces::NUMBERS;
    if part != "first" {
        let parent = parent(&mut job);
        let node = port.address().node;
        tell(
            &mut port,
            parent,
            &format!("{part} {} on {node}", job.rank()),
        );
        job.exchange(b"").unwrap();
        return;
    }
    assert_eq!(port.address().node.to_string(), left);
    let own = port.address().to_string();
    // Nothing runs there yet.
    let named = more(test, "named", 1).host("right").blob(own.clone());
    assert!(all_run(&job.spawn(&named).unwrap()));
    assert_eq!(hear(&mut port, 1), [format!("named 0 on {right}")]);
    // On from the slot behind the last: right has two, then left has one.
    assert!(all_run(
        &job.spawn(&more(test, "placed", 3).blob(own)).unwrap()
    ));
    let on = |rank, node: &str| format!("placed {rank} on {node}");
    assert_eq!(
        hear(&mut port, 3),
        [on(0, right), on(1, right), on(2, left)]
    );
    let not_there = job.spawn(&Spawn::new(["/no/such/program"], 1).host("right"));
    let reason = not_there.unwrap()[0].clone().unwrap_err().reason;
    assert!(reason.starts_with("host right: cannot start"), "{reason}");
}

#[test]
fn a_host_whose_helper_has_gone_while_nothing_ran_there_is_reached_again() {
    let test = "a_host_whose_helper_has_gone_while_nothing_ran_there_is_reached_again";
    if part().is_none() {
        let node = Node::new();
        let output = run(&node, &["--hosts", "left,right", "-n", "1"], test);
        assert!(output.status.success(), "{}", text(&output));
        return;
    }
    let mut job = this_job();
    let file = |name: &str| std::path::Path::new(&std::env::var("BCL_DIR").unwrap()).join(name);
    let mut start = |name: &str| -> (u32, u32) {
        let path = file(name);
        let script = format!("echo $$ $PPID > {0}.new; mv {0}.new {0}", path.display());
        assert!(all_run(
            &job.spawn(&shell(&script, 1).host("right")).unwrap()
        ));
        eventually("it has written", || path.exists());
        let numbers = fs::read_to_string(path).unwrap();
        let (own, helper) = numbers.trim().split_once(' ').unwrap();
        (own.parse().unwrap(), helper.parse().unwrap())
    };
    let (child, helper) = start("first");
    // The helper has seen its end, since nobody is left to wait for it, and has told the launcher of it.
    let is_there = |pid: u32| std::path::Path::new("/proc").join(pid.to_string()).exists();
    eventually("the child has gone", || !is_there(child));
    eventually("the helper waits again", || is_asleep(helper));
    signal(helper, libc::SIGKILL);
    eventually("the helper has gone", || !is_running(helper));
    let (_, other) = start("second");
    assert_ne!(helper, other);
}

/// Namespaces share files, and hosts do not.
fn options_as_on_a_host_of_its_own() -> PortOptions {
    let variable = |name: &str| std::env::var(name).unwrap();
    let folder = std::path::Path::new(&variable("BCL_DIR")).join(variable("BCL_NODE"));
    Port::options().folder(folder)
}

#[test]
fn a_spawned_process_that_fails_ends_the_job_as_any_other() {
    let test = "a_spawned_process_that_fails_ends_the_job_as_any_other";
    if part().is_none() {
        for hosts in [&["-n", "2"][..], &["--hosts", "left,right"]] {
            let node = Node::new();
            let output = run(&node, hosts, test);
            let said = text(&output);
            assert_eq!(output.status.code(), Some(7), "{said}");
            let failure = "exited with status 7; ending the others";
            assert!(
                said.contains("rank 1.1 on ") && said.contains(failure),
                "{said}"
            );
            let pids = said.lines().filter_map(|line| line.strip_prefix("pid "));
            let pids: Vec<u32> = pids.map(|pid| pid.parse().unwrap()).collect();
            assert_eq!(pids.len(), 2, "{said}");
            assert!(!pids.iter().any(|pid| is_running(*pid)));
        }
        return;
    }
    let mut job = this_job();
    if job.rank() == 0 {
        // It does not end before its sibling has spoken.
        let script = "[ $BCL_RANK = 0 ] && echo pid $$ && exec sleep 1000; sleep 0.3; exit 7";
        assert!(all_run(&job.spawn(&shell(script, 2)).unwrap()));
        println!("pid {}", std::process::id());
    }
    std::thread::sleep(Duration::from_secs(1000));
}

#[test]
fn an_exchange_in_a_group_that_is_not_whole_fails_at_once() {
    let test = "an_exchange_in_a_group_that_is_not_whole_fails_at_once";
    let Some(part) = part() else {
        let node = Node::new();
        let output = run(&node, &["--hosts", "left,nowhere", "-n", "1"], test);
        assert!(output.status.success(), "{}", text(&output));
        return;
    };
    let mut job = this_job();
    if part != "first" {
        assert_eq!((job.rank(), job.size()), (1, 2));
        assert!(job.exchange(b"anybody?").is_err());
        return;
    }
    // The next slot is nowhere's.
    let results = job.spawn(&more(test, "second", 2)).unwrap();
    assert!(results[0].is_err() && results[1].is_ok(), "{results:?}");
}

#[test]
fn output_of_spawned_processes_is_named_after_group_and_rank() {
    let test = "output_of_spawned_processes_is_named_after_group_and_rank";
    if part().is_none() {
        for hosts in [&["-n", "1"][..], &["--hosts", "left"]] {
            let node = Node::new();
            let output = run(&node, &[hosts, &["--prefix"]].concat(), test);
            assert!(output.status.success(), "{}", text(&output));
            for line in ["[1.0] I am 0\n", "[1.1] I am 1\n", "[2.0] I am 0\n"] {
                assert!(text(&output).contains(line), "{line}: {}", text(&output));
            }
            let folder = node.folder().join("out");
            let files = ["--output", folder.to_str().unwrap()];
            let output = run(&node, &[hosts, &files].concat(), test);
            assert!(output.status.success(), "{}", text(&output));
            let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
            assert_eq!(
                (read("1.1.out"), read("2.0.out")),
                ("I am 1\n".into(), "I am 0\n".into())
            );
        }
        return;
    }
    let mut job = this_job();
    // Nothing to read for them.
    let script = "echo I am $BCL_RANK $(cat)";
    for count in [2, 1] {
        assert!(all_run(&job.spawn(&shell(script, count)).unwrap()));
    }
}

#[test]
fn spawned_processes_die_with_a_killed_launcher() {
    let test = "spawned_processes_die_with_a_killed_launcher";
    if part().is_none() {
        for hosts in [&["-n", "1"][..], &["--hosts", "left,right", "-n", "1"]] {
            let node = Node::new();
            let mut child = job(&node, hosts, test).spawn().unwrap();
            let mut pids: Vec<u32> = Vec::new();
            while pids.len() < 2 {
                let line = await_line(&mut child);
                pids.extend(
                    line.strip_prefix("pid ")
                        .map(|pid| pid.parse::<u32>().unwrap()),
                );
            }
            signal(child.id(), libc::SIGKILL);
            child.wait().unwrap();
            eventually("the job ends", || !pids.iter().any(|pid| is_running(*pid)));
        }
        return;
    }
    let mut job = this_job();
    let spawned = job.spawn(&shell("echo pid $$; exec sleep 1000", 2));
    assert!(all_run(&spawned.unwrap()));
    std::thread::sleep(Duration::from_secs(1000));
}

#[test]
fn a_launcher_that_cannot_spawn_says_so() {
    let test = "a_launcher_that_cannot_spawn_says_so";
    if part().is_none() {
        let node = Node::new();
        // One that was written from the text of the protocol.
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/c/launch.c");
        let launcher = node.folder().join("launch");
        let mut compiler = Command::new("cc");
        let compiled = compiler
            .args(["-o", launcher.to_str().unwrap(), source])
            .status();
        assert!(compiled.unwrap().success());
        let mut command = node.outside(launcher.to_str().unwrap());
        command.arg("2").args(program(test)).env(PART, "first");
        let output = finish(command.spawn().unwrap());
        assert!(output.status.success(), "{}", text(&output));
        return;
    }
    let mut job = this_job();
    let error = job.spawn(&shell("true", 1)).unwrap_err().to_string();
    assert!(
        error.contains("this job's launcher cannot start processes in a running job"),
        "{error}"
    );
    assert_eq!(job.parent().unwrap(), None);
    // It is all there for an exchange.
    assert_eq!(job.exchange(b"x").unwrap(), [b"x", b"x"]);
}

#[test]
fn a_process_that_asks_nonsense_is_not_listened_to() {
    let test = "a_process_that_asks_nonsense_is_not_listened_to";
    if part().is_none() {
        let node = Node::new();
        let output = run(&node, &["-n", "1"], test);
        assert!(output.status.success(), "{}", text(&output));
        let said = text(&output);
        assert!(
            said.contains("rank 0 uses BCL_LAUNCH_FD for something else"),
            "{said}"
        );
        return;
    }
    use std::io::{Read, Write};
    use std::os::fd::FromRawFd;
    let fd = std::env::var("BCL_LAUNCH_FD").unwrap().parse().unwrap();
    // SAFETY: the launcher opened it for this process, and nothing else here uses it.
    let mut launcher = unsafe { std::os::unix::net::UnixStream::from_raw_fd(fd) };
    let numbers = |numbers: &[u32]| -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    };
    // A request that nobody knows is no nonsense.
    launcher.write_all(&numbers(&[0x8000_7777, 4, 1])).unwrap();
    let mut answer = [0; 4];
    launcher.read_exact(&mut answer).unwrap();
    assert_eq!(answer, [1, 0, 0, 0]);
    // A spawn with more words than bytes is.
    launcher
        .write_all(&numbers(&[0x8000_0001, 8, 1, 77]))
        .unwrap();
    assert_eq!(launcher.read(&mut answer).unwrap(), 0);
}
