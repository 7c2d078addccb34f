//! `bcl run` with real jobs.

mod common;

use std::io::Write;
use std::process::{Output, Stdio};

use bcl::{Event, Job, Port, Which};
use common::{Node, await_line, children, eventually, finish, is_running, signal, text};

/// Runs a shell script as a job.
fn job(node: &Node, options: &[&str], script: &str) -> Output {
    let arguments = [&["run"], options, &["--", "sh", "-c", script]].concat();
    node.run(&arguments)
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn sorted_lines(bytes: &[u8]) -> Vec<String> {
    let mut lines: Vec<_> = String::from_utf8_lossy(bytes)
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines
}

#[test]
fn each_process_knows_its_place_and_they_share_a_new_key() {
    let node = Node::new();
    let script = "echo $BCL_RANK $BCL_SIZE $BCL_DIR $BCL_JOB_KEY";
    let first = sorted_lines(&job(&node, &["-n", "3"], script).stdout);
    let second = sorted_lines(&job(&node, &["-n", "3"], script).stdout);
    let words = |line: &String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let folder = node.folder().to_str().unwrap();
    for (rank, line) in first.iter().map(words).enumerate() {
        assert_eq!(line[..3], [&rank.to_string(), "3", folder]);
        assert_eq!(line[3].len(), 64);
        assert_eq!(line[3], words(&first[0])[3]);
        assert_ne!(line[3], words(&second[0])[3]);
    }
    assert_eq!(first.len(), 3);
}

#[test]
fn the_status_is_that_of_the_first_that_failed_and_it_is_named() {
    let node = Node::new();
    let output = job(
        &node,
        &["-n", "3"],
        "[ $BCL_RANK = 1 ] && exit 7; exec sleep 1000",
    );
    assert_eq!(output.status.code(), Some(7), "{}", text(&output));
    let complaint = stderr(&output);
    assert!(
        complaint.contains("rank 1 on ") && complaint.contains("(pid "),
        "{complaint}"
    );
    assert!(
        complaint.contains("exited with status 7; ending the others"),
        "{complaint}"
    );
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
}

#[test]
fn a_killed_process_gives_128_and_the_signal() {
    let node = Node::new();
    let output = job(
        &node,
        &["-n", "2"],
        "[ $BCL_RANK = 0 ] && kill -SEGV $$; exec sleep 1000",
    );
    assert_eq!(output.status.code(), Some(128 + libc::SIGSEGV));
    assert!(
        stderr(&output).contains("was killed by signal 11 (SIGSEGV"),
        "{}",
        text(&output)
    );
}

#[test]
fn who_does_not_end_on_sigterm_is_killed() {
    let node = Node::new();
    let script = "trap '' TERM; [ $BCL_RANK = 0 ] && exit 3; while :; do sleep 0.05; done";
    let output = job(&node, &["-n", "2"], script);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
}

#[test]
fn a_job_that_lasts_too_long_is_ended_with_124() {
    let node = Node::new();
    let output = job(&node, &["-n", "2", "--timeout", "0.2"], "exec sleep 1000");
    assert_eq!(output.status.code(), Some(124), "{}", text(&output));
    assert!(stderr(&output).contains("--timeout"));
}

#[test]
fn programs_that_cannot_start_have_the_statuses_of_a_shell() {
    let node = Node::new();
    let output = node.run(&["run", "-n", "2", "/no/such/program"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(
        stderr(&output).contains("/no/such/program"),
        "{}",
        text(&output)
    );
    let file = node.folder().join("data");
    std::fs::write(&file, "x").unwrap();
    let output = node.run(&["run", "-n", "2", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(126), "{}", text(&output));
    assert_eq!(node.run(&["run", "-n", "2"]).status.code(), Some(2));
    assert_eq!(node.run(&["run", "-n", "0", "true"]).status.code(), Some(2));
}

#[test]
fn output_is_labelled_line_by_line() {
    let node = Node::new();
    let script = "echo out; echo err >&2; printf 'no end'";
    let output = job(&node, &["-n", "2", "--prefix"], script);
    assert_eq!(
        sorted_lines(&output.stdout),
        ["[0] no end", "[0] out", "[1] no end", "[1] out"]
    );
    assert_eq!(sorted_lines(&output.stderr), ["[0] err", "[1] err"]);
}

#[test]
fn output_goes_to_files() {
    let node = Node::new();
    let folder = node.folder().join("out");
    let option = folder.to_str().unwrap();
    let output = job(
        &node,
        &["-n", "2", "--output", option],
        "echo I am $BCL_RANK; echo no >&2",
    );
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{}",
        text(&output)
    );
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(
        (read("0.out"), read("1.out")),
        ("I am 0\n".into(), "I am 1\n".into())
    );
    assert_eq!(read("1.err"), "no\n");
}

#[test]
fn rank_0_reads_the_input_and_the_others_none() {
    let node = Node::new();
    let mut command = node.bcl(&["run", "-n", "2", "--prefix", "--", "cat"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let output = finish(child);
    assert_eq!(sorted_lines(&output.stdout), ["[0] hello"]);
}

#[test]
fn signals_are_passed_on_and_their_handling_decides() {
    let node = Node::new();
    for number in [
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGHUP,
    ] {
        let script = format!("trap 'exit 0' {number}; echo ready; while :; do sleep 0.02; done");
        let arguments = ["run", "-n", "2", "--", "sh", "-c", &script];
        let mut child = node.bcl(&arguments).spawn().unwrap();
        await_line(&mut child);
        await_line(&mut child);
        signal(child.id(), number);
        let output = finish(child);
        assert_eq!(output.status.code(), Some(0), "{number}: {}", text(&output));
    }
}

/// A job of two processes that do nothing, and the processes.
fn sleeping_job(node: &Node) -> (std::process::Child, Vec<u32>) {
    let script = "echo ready; exec sleep 1000";
    let mut child = node
        .bcl(&["run", "-n", "2", "--", "sh", "-c", script])
        .spawn()
        .unwrap();
    await_line(&mut child);
    await_line(&mut child);
    let processes = children(child.id());
    (child, processes)
}

#[test]
fn a_ctrl_c_ends_a_job_that_does_not_handle_it() {
    let node = Node::new();
    let (child, processes) = sleeping_job(&node);
    assert_eq!(processes.len(), 2);
    signal(child.id(), libc::SIGINT);
    let output = finish(child);
    assert_eq!(
        output.status.code(),
        Some(128 + libc::SIGINT),
        "{}",
        text(&output)
    );
    assert!(!processes.iter().any(|pid| is_running(*pid)));
}

#[test]
fn the_job_dies_with_a_killed_launcher() {
    let node = Node::new();
    let (mut child, processes) = sleeping_job(&node);
    signal(child.id(), libc::SIGKILL);
    child.wait().unwrap();
    eventually("the job ends", || {
        !processes.iter().any(|pid| is_running(*pid))
    });
}

#[test]
fn binding_gives_each_process_one_core_and_the_descriptor_limit_is_raised() {
    let node = Node::new();
    let script = "grep Cpus_allowed_list /proc/self/status; [ $(ulimit -Sn) = $(ulimit -Hn) ]";
    let output = job(&node, &["-n", "2", "--bind", "core"], script);
    assert!(output.status.success(), "{}", text(&output));
    for line in sorted_lines(&output.stdout) {
        let core = line.split_whitespace().last().unwrap();
        assert!(core.parse::<usize>().is_ok(), "{line}");
    }
}

/// Runs a test of this file as a program of three processes.
fn job_of_this_program(node: &Node, test: &str) -> Output {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let arguments = [
        "run",
        "-n",
        "3",
        "--",
        program,
        "--exact",
        test,
        "--nocapture",
    ];
    let mut command = node.bcl(&arguments);
    finish(command.env("BCL_TEST_PART", "1").spawn().unwrap())
}

fn is_part() -> bool {
    std::env::var_os("BCL_TEST_PART").is_some()
}

#[test]
fn processes_exchange_addresses_and_reach_each_other() {
    if !is_part() {
        let node = Node::new();
        let test = "processes_exchange_addresses_and_reach_each_other";
        let output = job_of_this_program(&node, test);
        assert!(output.status.success(), "{}", text(&output));
        assert!(node.names().is_empty());
        return;
    }
    let mut job = Job::from_env().unwrap().unwrap();
    let mut port = Port::open().unwrap();
    let mine = port.address().to_string();
    let all = job.exchange(mine.as_bytes()).unwrap();
    assert_eq!(all.len(), 3);
    assert_eq!(all[job.rank() as usize], mine.as_bytes());
    let next = &all[(job.rank() as usize + 1) % 3];
    let next = std::str::from_utf8(next).unwrap().parse().unwrap();
    port.send_system(next, &job.rank().to_le_bytes(), 0)
        .unwrap();
    // What was sent only moves on while its sender looks after its port: both have to be done.
    let (mut is_sent, mut has_come) = (false, false);
    while !(is_sent && has_come) {
        match port.wait(Which::Any, None).unwrap() {
            Some(Event::Sent { result, .. }) => is_sent = result.is_ok(),
            Some(Event::Message(message)) => {
                let before = (job.rank() + 2) % 3;
                assert_eq!(port.data(&message), before.to_le_bytes());
                port.release(message).unwrap();
                has_come = true;
            }
            _ => {}
        }
    }
    // A second exchange is a barrier: nobody closes its port before its neighbour has heard of it.
    assert_eq!(job.exchange(b"").unwrap(), [b"", b"", b""]);
}

#[test]
fn an_exchange_with_one_that_has_left_fails_at_once() {
    if !is_part() {
        let node = Node::new();
        let test = "an_exchange_with_one_that_has_left_fails_at_once";
        let output = job_of_this_program(&node, test);
        assert!(output.status.success(), "{}", text(&output));
        return;
    }
    let mut job = Job::from_env().unwrap().unwrap();
    if job.rank() != 1 {
        assert!(job.exchange(b"anybody?").is_err());
    }
}

#[test]
fn names_of_killed_processes_are_swept() {
    if !is_part() {
        let node = Node::new();
        let output = job_of_this_program(&node, "names_of_killed_processes_are_swept");
        assert_eq!(
            output.status.code(),
            Some(128 + libc::SIGKILL),
            "{}",
            text(&output)
        );
        assert!(node.names().is_empty(), "left: {:?}", node.names());
        return;
    }
    let _port = Port::open().unwrap();
    signal(std::process::id(), libc::SIGKILL);
}
