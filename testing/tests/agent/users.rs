//! Who may ask, and for what.

use std::net::Ipv4Addr;

use bcl_agent_client::message::{Answer, Code, Request};

use bcl_testing::agent::free_socket;

use crate::lab::{GROUP, Lab, skips};

const NOBODY: u32 = 65_534;

// AGENT-3.1
#[test]
fn members_of_the_group_are_let_in_and_nobody_else() {
    if skips() {
        return;
    }
    let lab = Lab::new(&[]);
    let mut stranger = lab.asker_of(NOBODY, NOBODY, &[]);
    let told = ["user 65534", "39990", "usermod"];
    stranger.is_refused("connect", &told);
    stranger.is_refused("open 127.0.0.1 any", &told);
    lab.asker_of(NOBODY, NOBODY, &[1, 2])
        .is_refused("connect", &told);
    lab.asker_of(NOBODY, GROUP, &[]).tell("open 127.0.0.1 any");
    lab.asker_of(NOBODY, NOBODY, &[5, GROUP])
        .tell("open 127.0.0.1 any");
    lab.asker_of(0, 0, &[]).tell("open 127.0.0.1 any");
}

// AGENT-1.2
#[test]
fn no_secret_is_told_to_an_agent_of_another_user() {
    if skips() {
        return;
    }
    let lab = Lab::new(&[]);
    // The lab's agent is root's; one of nobody's listens elsewhere.
    let folder = lab.socket().with_file_name("nobody");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let mut agent = std::process::Command::new("setpriv");
    agent
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(env!("CARGO_BIN_EXE_bcld-fake"))
        .args(["--foreground", "--interface=lo", "--group=0"])
        .args(["--socket", &at("agent.sock")])
        .args(["--state", &at("state"), "--bpffs", &at("bpf")]);
    let mut agent = agent.spawn().unwrap();
    let path = folder.join("agent.sock");
    let start = std::time::Instant::now();
    while !path.exists() && start.elapsed() < bcl_testing::PATIENCE {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let refused = loop {
        // It exists before it is listened at.
        match bcl_agent_client::Agent::connect_to(&path) {
            Err(bcl_agent_client::AgentError::NotThere { .. })
                if start.elapsed() < bcl_testing::PATIENCE => {}
            other => break other.map(drop),
        }
    };
    agent.kill().unwrap();
    agent.wait().unwrap();
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("user 65534 listens"), "{error}");
}

// AGENT-1.4, AGENT-8.3
#[test]
fn a_port_belongs_to_its_process() {
    let lab = Lab::new(&[]);
    let mut owner = lab.asker();
    let number: u16 = owner.tell("open 127.0.0.1 any").parse().unwrap();
    let other = lab.line();
    let resume = Request::Resume {
        node: Ipv4Addr::LOCALHOST,
        number,
    };
    assert_eq!(code(other.ask(&resume)), Code::Unknown);
    assert_eq!(code(other.ask(&Request::Close {})), Code::Unknown);
    let remove = Request::Remove {
        connection: 1,
        ended: false,
        unheard: false,
    };
    assert_eq!(code(other.ask(&remove)), Code::Unknown);
    let opened = other.open(&free_socket(Ipv4Addr::LOCALHOST).unwrap());
    assert!(matches!(opened, Some(Answer::Opened { .. })), "{opened:?}");
    let again = other.open(&free_socket(Ipv4Addr::LOCALHOST).unwrap());
    assert_eq!(code(again), Code::InUse);
    owner.tell("enter 1");
    assert_eq!(owner.tell("remove 1"), "77");
}

/// Its process has ended, and the port's place in the tables is another port's by now. AGENT-1.4
#[test]
fn a_connection_that_outlives_its_process_has_nobody_elses_port() {
    let lab = Lab::new(&[]);
    let (orphan, mut process) = lab.dial_as_another();
    orphan.is_welcome();
    let opened = orphan.open(&free_socket(Ipv4Addr::LOCALHOST).unwrap());
    assert!(matches!(opened, Some(Answer::Opened { .. })), "{opened:?}");
    process.kill().unwrap();
    process.wait().unwrap();
    lab.await_tables(&[]);
    let mut other = lab.asker();
    other.tell("open 127.0.0.1 any");
    other.tell("enter 1");
    let remove = Request::Remove {
        connection: 1,
        ended: false,
        unheard: false,
    };
    for request in [remove, Request::Memory { bytes: 1 }] {
        assert_eq!(code(orphan.ask(&request)), Code::Unknown, "{request:?}");
    }
    // Its own is closed already.
    assert_eq!(orphan.ask(&Request::Close {}), Some(Answer::Done {}));
    drop(orphan);
    assert_eq!(other.tell("remove 1"), "77");
    assert_eq!(lab.tables(), ["job-0", "port-0"]);
}

#[test]
fn what_cannot_be_opened_is_told_with_the_reason() {
    let lab = Lab::new(&[]);
    let mut asker = lab.asker();
    let elsewhere = bcl_netns::Block::free().expect("ip tells the routes");
    let elsewhere = elsewhere.v4(0, 1).to_string();
    asker.is_refused(
        &format!("open {elsewhere} 7"),
        &[&elsewhere, "not an address of this machine"],
    );
    asker.is_refused("open 127.0.0.1 0", &["127.0.0.1:20000", "1 to 8191"]);
    asker.is_refused("open 127.0.0.1 8192", &["127.0.0.1:28192", "1 to 8191"]);
    asker.is_refused(
        "open 0.0.0.0 7",
        &["0.0.0.0", "not an address of this machine"],
    );
    asker.is_refused("open 127.0.0.1 any 65537", &["65537", "power of two"]);
    asker.is_refused("open 127.0.0.1 any 33554432", &["33554432"]);
    assert_eq!(lab.tables(), [""; 0]);
    assert_eq!(lab.records(), [""; 0]);
}

fn code(answer: Option<Answer>) -> Code {
    match answer {
        Some(Answer::Failed(failure)) => failure.code,
        other => panic!("{other:?} is no refusal"),
    }
}
