//! `bcl run --hosts`. Where a remote shell is enough, a script plays one that stays on this host; where hosts have
//! to differ, they are network namespaces, reached by `../shared/launch/netns-rsh`.

mod common;
mod namespaces;

use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};

use bcl::{Event, Job, Port, PortOptions, Which};
use common::{Node, await_line, children, eventually, finish, is_running, signal, text};
use namespaces::Namespaces;

/// `bcl run` with options, the script as launcher, and a shell script as program.
fn job(node: &Node, options: &[&str], script: &str) -> Command {
    let arguments = [&["run"], options, &["--", "sh", "-c", script]].concat();
    let mut command = node.bcl(&arguments);
    command.env("BCL_LAUNCHER", node.shell());
    command
}

fn run(node: &Node, options: &[&str], script: &str) -> Output {
    finish(job(node, options, script).spawn().unwrap())
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn complaint(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A job whose processes say their numbers and then sleep, and those numbers.
fn sleeping(mut job: Command, count: usize) -> (Child, Vec<u32>) {
    let mut child = job.spawn().unwrap();
    let pids = (0..count).map(|_| await_line(&mut child).parse().unwrap());
    let pids = pids.collect();
    (child, pids)
}

const SLEEP: &str = "echo $$; exec sleep 1000";

#[test]
fn ranks_fill_the_slots_of_each_host_or_go_round() {
    let node = Node::new();
    let script = "echo $BCL_RANK $BCL_SIZE $BCL_NODE";
    let nodes = node.folder().join("nodes.toml");
    fs::write(
        &nodes,
        "[node.left]\nnumber = '10.1.1.1'\n[node.right]\nnumber = '10.1.1.2'\n",
    )
    .unwrap();
    let run = |options: &[&str]| {
        let mut job = job(&node, options, script);
        let output = finish(job.env("BCL_NODES", &nodes).spawn().unwrap());
        assert!(output.status.success(), "{}", text(&output));
        lines(&output.stdout)
    };
    let filled = ["0 3 10.1.1.1", "1 3 10.1.1.1", "2 3 10.1.1.2"];
    assert_eq!(run(&["--hosts", "left:2,right"]), filled);
    let round = ["0 3 10.1.1.1", "1 3 10.1.1.2", "2 3 10.1.1.1"];
    assert_eq!(run(&["--hosts", "left:2,right", "--map-by", "node"]), round);
    let file = node.folder().join("hosts");
    fs::write(&file, "left slots=2\nright # the other\n").unwrap();
    assert_eq!(run(&["--hostfile", file.to_str().unwrap()]), filled);
    // A host without a process is not even asked.
    assert_eq!(
        run(&["--hosts", "right,nowhere", "-n", "1"]),
        ["0 1 10.1.1.2"]
    );
}

#[test]
fn folder_settings_and_chosen_variables_come_along_and_the_key_is_on_no_command_line() {
    let node = Node::new();
    let script =
        "echo $BCL_JOB_KEY $BCL_COPY $A $B $PWD $(pwd) ${BCL_LAUNCH_FD:+fd} . ; exec sleep 1000";
    let options = ["--hosts", "left,right", "-x", "A", "-x", "B=2"];
    let mut job = job(&node, &options, script);
    job.env("BCL_COPY", "stream").env("A", "1");
    job.current_dir(node.folder());
    let mut child = job.spawn().unwrap();
    let (first, second) = (await_line(&mut child), await_line(&mut child));
    assert_eq!(first, second);
    let words: Vec<_> = first.split(' ').collect();
    let folder = node.folder().to_str().unwrap();
    assert_eq!(words[1..], ["stream", "1", "2", folder, folder, "fd", "."]);
    let key = words[0];
    assert_eq!(key.len(), 64);
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains(key));
    }
    signal(child.id(), libc::SIGTERM);
    finish(child);
}

#[test]
fn the_first_failure_ends_the_job_with_its_status_wherever_it_was() {
    let node = Node::new();
    let script = "[ $BCL_RANK = 2 ] && exit 7; exec sleep 1000";
    let output = run(&node, &["--hosts", "left:2,right:2"], script);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output));
    let said = complaint(&output);
    assert!(
        said.contains("rank 2 on ") && said.contains("exited with status 7; ending the others"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    let script = "trap '' TERM; [ $BCL_RANK = 0 ] && kill -SEGV $$; while :; do sleep 0.05; done";
    let output = run(&node, &["--hosts", "left,right"], script);
    assert_eq!(output.status.code(), Some(128 + libc::SIGSEGV));
    let output = run(
        &node,
        &["--hosts", "left,right", "--timeout", "0.5"],
        "exec sleep 1000",
    );
    assert_eq!(output.status.code(), Some(124), "{}", text(&output));
}

#[test]
fn what_cannot_start_is_named_with_its_host() {
    let node = Node::new();
    let start = |program: &str| {
        let mut command = node.bcl(&["run", "--hosts", "left,right", program]);
        finish(command.env("BCL_LAUNCHER", node.shell()).spawn().unwrap())
    };
    let output = start("/no/such/program");
    assert_eq!(output.status.code(), Some(127), "{}", text(&output));
    let said = complaint(&output);
    assert!(said.contains(": cannot start /no/such/program"), "{said}");
    assert!(said.contains("host left") || said.contains("host right"));
    let file = node.folder().join("data");
    fs::write(&file, "x").unwrap();
    let output = start(file.to_str().unwrap());
    assert_eq!(output.status.code(), Some(126), "{}", text(&output));
}

#[test]
fn output_is_labelled_or_written_to_files_here() {
    let node = Node::new();
    let script = "echo out $BCL_RANK; echo err >&2; printf 'no end'";
    let hosts = ["--hosts", "left,right"];
    let output = run(&node, &[&hosts[..], &["--prefix"]].concat(), script);
    assert_eq!(
        lines(&output.stdout),
        ["[0] no end", "[0] out 0", "[1] no end", "[1] out 1"]
    );
    assert_eq!(lines(&output.stderr), ["[0] err", "[1] err"]);
    let folder = node.folder().join("out");
    let files = ["--output", folder.to_str().unwrap()];
    let output = run(&node, &[&hosts[..], &files].concat(), script);
    assert!(output.status.success() && output.stdout.is_empty());
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("1.out"), "out 1\nno end");
    assert_eq!(read("0.err"), "err\n");
}

#[test]
fn rank_0_reads_the_input_to_its_end_and_all_output_comes_whole() {
    let node = Node::new();
    let mut job = job(
        &node,
        &["--hosts", "left,right"],
        "cat; [ $BCL_RANK = 0 ] || seq 100000",
    );
    let mut child = job.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let sent: String = (0..300_000).map(|number| format!("x{number}\n")).collect();
    let bytes = sent.clone().into_bytes();
    let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap());
    let output = finish(child);
    writer.join().unwrap();
    let (of_first, of_second): (Vec<_>, Vec<_>) = std::str::from_utf8(&output.stdout)
        .unwrap()
        .lines()
        .partition(|line| line.starts_with('x'));
    assert!(of_first.iter().copied().eq(sent.lines()));
    let expected = (1..=100_000).map(|number: u32| number.to_string());
    assert!(of_second.iter().map(|line| line.to_string()).eq(expected));
}

#[test]
fn input_that_nobody_reads_holds_nothing_up() {
    let node = Node::new();
    let mut job = job(&node, &["--hosts", "left"], "exec sleep 0.2");
    let zero = fs::File::open("/dev/zero").unwrap();
    let output = finish(job.stdin(zero).spawn().unwrap());
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn signals_are_passed_on_to_all_hosts() {
    let node = Node::new();
    for number in [libc::SIGUSR1, libc::SIGTERM, libc::SIGINT] {
        let script = format!("trap 'exit 0' {number}; echo ready; while :; do sleep 0.02; done");
        let mut child = job(&node, &["--hosts", "left,right"], &script)
            .spawn()
            .unwrap();
        await_line(&mut child);
        await_line(&mut child);
        signal(child.id(), number);
        let output = finish(child);
        assert_eq!(output.status.code(), Some(0), "{number}: {}", text(&output));
    }
    let (child, pids) = sleeping(job(&node, &["--hosts", "left,right"], SLEEP), 2);
    signal(child.id(), libc::SIGINT);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(128 + libc::SIGINT));
    assert!(!pids.iter().any(|pid| is_running(*pid)));
}

#[test]
fn a_host_that_cannot_be_reached_is_named_and_nothing_is_left_running() {
    let node = Node::new();
    let output = run(&node, &["--hosts", "left,nowhere"], SLEEP);
    assert_eq!(output.status.code(), Some(255), "{}", text(&output));
    let said = complaint(&output);
    assert!(said.contains("no host nowhere"), "{said}");
    assert!(said.contains("cannot reach host nowhere"), "{said}");
    assert!(output.stdout.is_empty());

    let mut command = node.bcl(&["run", "--hosts", "left", "true"]);
    let output = finish(command.env("PATH", "/nowhere").spawn().unwrap());
    assert_eq!(output.status.code(), Some(1));
    let said = complaint(&output);
    assert!(
        said.contains("cannot start ssh") && said.contains("openssh-client"),
        "{said}"
    );
    for wrong in ["-oProxyCommand=x", "a b", "left:0"] {
        let output = node.run(&["run", "--hosts", wrong, "true"]);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {}", text(&output));
    }
}

#[test]
fn a_host_that_talks_nonsense_is_not_listened_to() {
    let node = Node::new();
    let shell = node.shell();
    // Something else; output of a process that is not there; a frame without end.
    for said in [
        "what is this?",
        "\\2\\11\\0\\0\\0\\1\\0\\0\\0x",
        "\\2\\0\\0\\0\\0\\377\\377\\377\\377",
    ] {
        let script = format!("#!/bin/sh\nprintf '\\0bcl run 1\\n{said}'\nexec sleep 1000\n");
        fs::write(&shell, script).unwrap();
        let mut command = node.bcl(&["run", "--hosts", "left", "true"]);
        let output = finish(command.env("BCL_LAUNCHER", &shell).spawn().unwrap());
        assert_eq!(output.status.code(), Some(255), "{}", text(&output));
        let told = complaint(&output);
        assert!(
            told.contains("host left says something that is not from bcl"),
            "{told}"
        );
    }
}

#[test]
fn the_job_dies_with_a_killed_launcher() {
    let node = Node::new();
    let (mut child, pids) = sleeping(job(&node, &["--hosts", "left,right"], SLEEP), 2);
    let helpers = children(child.id());
    assert_eq!(helpers.len(), 2);
    signal(child.id(), libc::SIGKILL);
    child.wait().unwrap();
    eventually("the job ends", || {
        !pids.iter().chain(&helpers).any(|pid| is_running(*pid))
    });
}

#[test]
fn what_a_process_has_started_is_ended_with_it() {
    let node = Node::new();
    let script = "sleep 1000 & echo $!; wait";
    let (child, pids) = sleeping(job(&node, &["--hosts", "left,right"], script), 2);
    signal(child.id(), libc::SIGTERM);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(128 + libc::SIGTERM));
    eventually("the job ends", || !pids.iter().any(|pid| is_running(*pid)));
}

#[test]
fn a_lost_host_ends_the_job() {
    let node = Node::new();
    let (child, pids) = sleeping(job(&node, &["--hosts", "left,right"], SLEEP), 2);
    signal(children(child.id())[1], libc::SIGKILL);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(255), "{}", text(&output));
    let said = complaint(&output);
    assert!(
        said.contains("the connection to host right is lost") && said.contains("rank 1"),
        "{said}"
    );
    eventually("the job ends", || !pids.iter().any(|pid| is_running(*pid)));
}

#[test]
fn silence_ends_the_job_on_either_side() {
    let node = Node::new();
    let options = ["--hosts", "left,right", "--patience", "1.5"];
    let (child, pids) = sleeping(job(&node, &options, SLEEP), 2);
    let helpers = children(child.id());
    signal(helpers[0], libc::SIGSTOP);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(255), "{}", text(&output));
    let said = complaint(&output);
    assert!(said.contains(" is lost"), "{said}");
    eventually("the job ends", || !pids.iter().any(|pid| is_running(*pid)));

    let (mut child, pids) = sleeping(job(&node, &options, SLEEP), 2);
    signal(child.id(), libc::SIGSTOP);
    eventually("the job ends", || !pids.iter().any(|pid| is_running(*pid)));
    signal(child.id(), libc::SIGKILL);
    child.wait().unwrap();
}

#[test]
fn a_host_that_hangs_does_not_keep_a_job_that_is_to_end() {
    let node = Node::new();
    let (child, _) = sleeping(job(&node, &["--hosts", "left,right"], SLEEP), 2);
    let helpers = children(child.id());
    signal(helpers[1], libc::SIGSTOP);
    signal(child.id(), libc::SIGTERM);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(128 + libc::SIGTERM));
    assert!(!is_running(helpers[1]));
}

/// An ssh that knows no names but one of its own, and reaches nothing but the address that the nodes file has.
const SSH: &str = r#"#!/bin/sh
case "$1" in -G) [ "$2" = alias ] && echo "hostname elsewhere" || echo "hostname $2"; exit ;; esac
while [ $# -gt 1 ]; do [ "$1" = -o ] && options="$options $2"; host=$1; shift; done
case "$host$options" in alias*HostName*) exit 255 ;; left*HostName=192.0.2.7|alias*) exec sh -c "$1" ;; esac
echo "ssh: cannot resolve $host" >&2
exit 255
"#;

#[test]
fn ssh_is_told_the_address_of_a_name_that_only_the_nodes_file_knows() {
    let node = Node::new();
    let ssh = node.folder().join("ssh");
    fs::write(&ssh, SSH).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        node.folder().display(),
        std::env::var("PATH").unwrap()
    );
    let nodes = "[node.left]\nnumber = '10.1.1.1'\naddresses = ['192.0.2.7']\n\
                 [node.alias]\nnumber = '10.1.1.2'\naddresses = ['192.0.2.8']\n";
    let run = |host: &str| {
        let mut command = node.bcl(&["run", "--hosts", host, "--", "sh", "-c", "echo $BCL_NODE"]);
        command.env("PATH", &path).env("BCL_NODES_TEXT", nodes);
        finish(command.spawn().unwrap())
    };
    for (host, number) in [("left", "10.1.1.1"), ("alias", "10.1.1.2")] {
        let output = run(host);
        assert_eq!(lines(&output.stdout), [number], "{}", text(&output));
    }
    let nowhere = run("nowhere");
    assert_eq!(nowhere.status.code(), Some(255));
    assert!(
        complaint(&nowhere).contains("cannot resolve nowhere"),
        "{}",
        text(&nowhere)
    );
}

/// As compute nodes of a private network: no default route, and nobody says what their addresses are.
#[test]
fn hosts_with_one_interface_need_no_nodes_file() {
    let node = Node::new();
    let Some(hosts) = Namespaces::new(&node) else {
        return;
    };
    let show = ["--hosts", "left,right", "--", "sh", "-c", "echo $BCL_NODE"];
    let output = finish(
        hosts
            .job(&node, &show)
            .env_remove("BCL_NODES")
            .spawn()
            .unwrap(),
    );
    let mut said = lines(&output.stdout);
    said.sort();
    let mut addresses = hosts.addresses().map(|address| address.to_string());
    addresses.sort();
    assert_eq!(said, addresses, "{}", text(&output));
}

#[test]
fn two_hosts_with_one_node_number_are_refused() {
    let node = Node::new();
    let Some(hosts) = Namespaces::new(&node) else {
        return;
    };
    hosts.lose_addresses();
    let mut job = hosts.job(&node, &["--hosts", "left,right", "--", "true"]);
    let output = finish(job.env_remove("BCL_NODES").spawn().unwrap());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let said = complaint(&output);
    assert!(
        said.contains("both have the node number 127.0.0.1"),
        "{said}"
    );
}

/// Whether this is a process of such a job. If not, it is run, and has to succeed.
fn is_part_of_a_job(test: &str) -> bool {
    if std::env::var_os("BCL_TEST_PART").is_some() {
        return true;
    }
    let node = Node::new();
    if let Some(hosts) = Namespaces::new(&node) {
        let output = job_of_this_program(&hosts, &node, test);
        assert!(output.status.success(), "{}", text(&output));
    }
    false
}

/// Runs a test of this file as a program of four processes on two hosts.
fn job_of_this_program(hosts: &Namespaces, node: &Node, test: &str) -> Output {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let options = ["--hosts", "left:2,right:2", "-x", "BCL_TEST_PART=1", "--"];
    let test = [program, "--exact", test, "--nocapture"];
    finish(
        hosts
            .job(node, &[&options[..], &test].concat())
            .spawn()
            .unwrap(),
    )
}

#[test]
fn processes_on_two_hosts_exchange_addresses_and_messages() {
    if !is_part_of_a_job("processes_on_two_hosts_exchange_addresses_and_messages") {
        return;
    }
    let mut job = Job::from_env().unwrap().unwrap();
    let mut port = options_as_on_a_host_of_its_own().open().unwrap();
    let all = addresses(&mut job, &port);
    let nodes: Vec<_> = all.iter().map(|address| address.node.to_string()).collect();
    let [left, right] = namespaces::NUMBERS;
    assert_eq!(nodes, [left, left, right, right]);
    // Not by a file that other hosts may not have.
    assert!(std::env::var("BCL_NODES_TEXT").unwrap().contains(right));
    let own = job.rank();
    let others: Vec<u32> = (0..4).filter(|rank| *rank != own).collect();
    for rank in &others {
        port.post(*rank as u16 + 1, vec![0; LONG], 0).unwrap();
    }
    for rank in &others {
        let to = all[*rank as usize];
        port.send_system(to, &own.to_le_bytes(), 0).unwrap();
        port.send(to, own as u16 + 1, vec![own as u8; LONG], 0)
            .unwrap();
    }
    let (mut sent, mut came, mut received) = (0, 0, 0);
    while (sent, came, received) != (6, 3, 3) {
        match port.wait(Which::Any, None).unwrap() {
            Some(Event::Sent { result, .. }) => {
                assert_eq!(result, Ok(()));
                sent += 1;
            }
            Some(Event::Message(message)) => {
                let rank = u32::from_le_bytes(port.data(&message).try_into().unwrap());
                assert_eq!(message.from(), all[rank as usize]);
                port.release(message).unwrap();
                came += 1;
            }
            Some(Event::Received {
                result,
                channel,
                buffer,
                ..
            }) => {
                assert_eq!(result, Ok(()));
                let bytes = buffer.unwrap().into_vec();
                assert!(bytes.iter().all(|byte| u16::from(*byte) + 1 == channel));
                received += 1;
            }
            Some(Event::PeerUp { peer, device, .. }) => {
                let expected = if peer.node == port.address().node {
                    "shm"
                } else {
                    "udp"
                };
                assert_eq!(device.name(), expected);
            }
            _ => {}
        }
    }
    // As a barrier: nobody closes its port before all have their messages.
    let long = vec![own as u8; bcl::job::BLOB_MAX];
    for (rank, blob) in job.exchange(&long).unwrap().iter().enumerate() {
        assert_eq!(*blob, vec![rank as u8; bcl::job::BLOB_MAX]);
    }
}

const LONG: usize = 300_000;

/// Namespaces share files, and hosts do not.
fn folder_as_on_a_host_of_its_own() -> std::path::PathBuf {
    let variable = |name: &str| std::env::var(name).unwrap();
    std::path::Path::new(&variable("BCL_DIR")).join(variable("BCL_NODE"))
}

fn options_as_on_a_host_of_its_own() -> PortOptions {
    Port::options().folder(folder_as_on_a_host_of_its_own())
}

fn addresses(job: &mut Job, port: &Port) -> Vec<bcl::Address> {
    let mine = port.address().to_string();
    let all = job.exchange(mine.as_bytes()).unwrap();
    let texts = all.iter().map(|blob| std::str::from_utf8(blob).unwrap());
    texts.map(|text| text.parse().unwrap()).collect()
}

#[test]
fn a_file_goes_to_a_named_node_where_the_nodes_file_says() {
    let node = Node::new();
    let Some(hosts) = Namespaces::new(&node) else {
        return;
    };
    let path = |name: &str| node.folder().join(name).to_str().unwrap().to_owned();
    let (nodes, file, copy) = (path("nodes.toml"), path("file"), path("copy"));
    fs::write(&file, vec![7; 3_000_000]).unwrap();
    for addresses in [hosts.addresses(), hosts.addresses_v6()] {
        let entry = |(name, number, address): (&str, &str, IpAddr)| {
            format!("[node.{name}]\nnumber = '{number}'\naddresses = ['{address}']\n")
        };
        let left = entry(("left", "10.1.1.1", addresses[0]));
        let right = entry(("right", "10.1.1.2", addresses[1]));
        fs::write(&nodes, left + &right).unwrap();
        let start = |side: usize, arguments: &[&str]| {
            let mut command = hosts.bcl(side, &node, arguments);
            command.env("BCL_NODES", &nodes).spawn().unwrap()
        };
        let mut receiver = start(1, &["recv", "--port", "77", &copy]);
        assert_eq!(await_line(&mut receiver), "10.1.1.2:77");
        let sent = finish(start(0, &["send", "right:77", &file]));
        assert!(sent.status.success(), "{}", text(&sent));
        assert!(finish(receiver).status.success());
        assert!(fs::read(&copy).unwrap() == fs::read(&file).unwrap());
    }
}

#[test]
fn the_death_of_a_process_is_news_on_other_hosts() {
    if std::env::var_os("BCL_TEST_PART").is_none() {
        let node = Node::new();
        let Some(hosts) = Namespaces::new(&node) else {
            return;
        };
        let test = "the_death_of_a_process_is_news_on_other_hosts";
        let output = job_of_this_program(&hosts, &node, test);
        assert_eq!(
            output.status.code(),
            Some(128 + libc::SIGKILL),
            "{}",
            text(&output)
        );
        assert!(text(&output).contains("rank 3 on "), "{}", text(&output));
        let told = text(&output).matches("gone: 3").count();
        assert_eq!(told, 3, "{}", text(&output));
        return;
    }
    // To be ended by the launcher is not what is looked at.
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
    let mut job = Job::from_env().unwrap().unwrap();
    let options = options_as_on_a_host_of_its_own();
    // Before the launcher loses its patience.
    let options = options.dead_after(std::time::Duration::from_millis(500));
    let mut port = options.open().unwrap();
    let all = addresses(&mut job, &port);
    if job.rank() != 3 {
        port.send_system(all[3], b"are you there?", bcl::QUIET)
            .unwrap();
    }
    if job.rank() != 3 {
        // Nobody posts for it: what is pending is looked after.
        port.send(all[3], 1, vec![0; LONG], 0).unwrap();
    }
    let mut met = 0;
    loop {
        match port.wait(Which::Any, None).unwrap() {
            Some(Event::Message(message)) => {
                port.release(message).unwrap();
                met += 1;
                if met == 3 {
                    signal(std::process::id(), libc::SIGKILL);
                }
            }
            Some(Event::PeerGone { peer, .. }) if peer == all[3] => {
                println!("gone: 3");
                return;
            }
            _ => {}
        }
    }
}

#[test]
fn an_exchange_with_one_on_another_host_that_has_left_fails_at_once() {
    if std::env::var_os("BCL_TEST_PART").is_none() {
        let node = Node::new();
        let Some(hosts) = Namespaces::new(&node) else {
            return;
        };
        let test = "an_exchange_with_one_on_another_host_that_has_left_fails_at_once";
        let output = job_of_this_program(&hosts, &node, test);
        assert!(output.status.success(), "{}", text(&output));
        return;
    }
    let mut job = Job::from_env().unwrap().unwrap();
    if job.rank() != 3 {
        assert!(job.exchange(b"anybody?").is_err());
    }
}

#[test]
fn the_processes_of_a_job_on_two_hosts_share_a_region() {
    if !is_part_of_a_job("the_processes_of_a_job_on_two_hosts_share_a_region") {
        return;
    }
    assert_eq!(
        std::env::var("BCL_HOSTS").unwrap(),
        namespaces::NUMBERS.join(",")
    );
    let folder = folder_as_on_a_host_of_its_own();
    let region = bcl_reflect::Options::new("shared", 4096)
        .folder(&folder)
        .join()
        .unwrap();
    let own = u64::from(region.member());
    region.write_word(own * 8, own + 1).unwrap();
    for member in 0..4 {
        eventually("its word", || {
            region.load(member * 8).unwrap() == member + 1
        });
    }
    let shown = Command::new(env!("CARGO_BIN_EXE_bcl"))
        .args(["reflect", "--json", "shared"])
        .env("BCL_DIR", &folder)
        .output()
        .unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let others = shown["network"]["others"].as_array().unwrap();
    assert_eq!(others.len(), 1, "{shown}");
    let elsewhere = |member: &&serde_json::Value| member["host"].is_string();
    let known = shown["known"].as_array().unwrap();
    assert_eq!(known.iter().filter(elsewhere).count(), 2, "{shown}");
    // None leaves before all have looked.
    region.write_word(1024 + own * 8, 1).unwrap();
    for member in 0..4 {
        eventually("that it has looked", || {
            region.load(1024 + member * 8).unwrap() == 1
        });
    }
    let reached = region.wait_until_reached(region.written(), None, None);
    assert!(reached.unwrap().is_enough);
}
