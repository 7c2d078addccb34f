//! No user can have more than its share. AGENT-3.2

use bcl_agent_client::message::{Answer, Request};

use crate::lab::{GROUP, Lab, is_root};

#[test]
fn each_limit_holds_and_what_is_given_back_counts_no_more() {
    let lab = Lab::new(&[
        "--limit=ports=2",
        "--limit=ring_bytes=196608",
        "--limit=memory_bytes=131072",
        "--limit=memories=2",
        "--limit=windows=1",
        "--limit=connections=2",
    ]);
    let mut one = lab.asker();
    let mut two = lab.asker();
    let mut three = lab.asker();
    one.tell("open 127.0.0.1 any 131072");
    two.is_refused(
        "open 127.0.0.1 any 131072",
        &["`ring_bytes`", "131072 of 196608"],
    );
    two.tell("open 127.0.0.1 any 65536");
    three.is_refused("open 127.0.0.1 any 65536", &["`ports`", "2 of 2"]);

    one.tell("enter 1");
    two.tell("enter 1");
    one.is_refused("enter 2", &["`connections`"]);
    // Past the interface program it is a connection still.
    two.tell("remove 1");
    one.is_refused("enter 2", &["`connections`"]);
    two.tell("enter 1");
    two.tell("end 1");
    one.tell("enter 2");

    let memory = one.tell("memory 1");
    assert_eq!(memory, "0 65536");
    two.is_refused("memory 65537", &["`memory_bytes`", "65536 of 131072"]);
    two.tell("memory 65536");
    one.is_refused("memory 1", &["`memories`"]);
    one.tell("bind 5 0 0 65536 7");
    two.is_refused("bind 5 1 0 8 7", &["`windows`"]);
    // The same window is no other one.
    one.tell("bind 5 0 8 8 1");
    one.tell("unbind 5");
    two.tell("bind 5 1 0 8 7");

    one.kill();
    let start = std::time::Instant::now();
    while three.ask("open 127.0.0.1 any 131072").is_err() {
        assert!(start.elapsed() < bcl_testing::PATIENCE);
    }
}

#[test]
fn a_user_has_so_many_connections_to_the_agent() {
    let lab = Lab::new(&["--limit=clients=2"]);
    let one = lab.line();
    let _two = lab.line();
    lab.asker().is_refused("connect", &["`clients`", "2 of 2"]);
    drop(one);
    let mut asker = lab.asker();
    let start = std::time::Instant::now();
    while asker.ask("connect").is_err() {
        assert!(start.elapsed() < bcl_testing::PATIENCE);
    }
    if is_root() {
        // What one user has counts for no other.
        let _two = lab.line();
        let mut other = lab.asker_of(65_534, GROUP, &[]);
        other.tell("connect");
    }
}

/// A file that may not grow is an error of the request that needs it, and not the end of the agent.
#[test]
fn a_limit_of_file_sizes_does_not_end_the_agent() {
    let lab = Lab::new(&[]);
    let mut one = lab.asker();
    one.tell("open 127.0.0.1 any 65536");
    lab.limit_files(Some(0));
    let mut two = lab.asker();
    two.is_refused("open 127.0.0.1 any 65536", &["large"]);
    lab.limit_files(None);
    two.tell("open 127.0.0.1 any 65536");
    one.tell("enter 1");
}

/// Who cannot be let in for want of descriptors waits until he can; the agent says so once, and serves the others.
#[test]
fn the_agent_that_has_no_descriptor_left_says_so_once() {
    let mut lab = Lab::new(&[]);
    let line = lab.line();
    lab.limit_descriptors(true);
    let waiting = lab.dial();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let refused = line.ask(&Request::Unbind { window: 1 });
    assert!(matches!(refused, Some(Answer::Failed(_))), "{refused:?}");
    lab.limit_descriptors(false);
    waiting.is_welcome();
    let words = lab.last_words();
    assert_eq!(words.matches("cannot accept").count(), 1, "{words}");
}
