//! Jobs of a program that is no command: it looks after them in one thread and has a handle in another.

use std::time::Duration;

use bcl::job::Spawn;
use bcl_launch::{Error, Launch, Notice, Output};

/// A job of one shell with this script, and a folder for what its processes write.
fn shell(script: &str) -> (Launch, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let output = Output::Files(folder.path().to_owned());
    let launch = Launch::new(["sh", "-c", script], 1).output(output);
    (launch.timeout(Some(Duration::from_secs(100))), folder)
}

/// Lives until it is ended.
const SLEEP: &str = "exec sleep 1000";

#[test]
fn a_handle_starts_processes_and_signals_all() {
    let until_told =
        "trap 'exit 0' USR1; echo $BCL_RANK $BCL_SIZE $A; while :; do sleep 0.01; done";
    let (launch, folder) = shell(until_told);
    let running = launch.start().unwrap();
    let handle = running.handle();
    let other = std::thread::spawn(move || {
        let spawn = Spawn::new(["sh", "-c", until_told], 2).env("A", "1");
        let children = handle.spawn(spawn).unwrap();
        assert!(children.iter().all(Result::is_ok), "{children:?}");
        let missing = handle.spawn(Spawn::new(["/no/such/program"], 1)).unwrap();
        assert_eq!(missing[0].clone().unwrap_err().status, 127);
        let nowhere = handle.spawn(Spawn::new(["true"], 1).host("nowhere"));
        assert!(matches!(nowhere, Err(Error::Refused(_))), "{nowhere:?}");
        let nothing = handle.spawn(Spawn::new(["true"], 0));
        assert!(matches!(nothing, Err(Error::Plan(_))), "{nothing:?}");
        let expected = [("0", "0 1\n"), ("1.0", "0 2 1\n"), ("1.1", "1 2 1\n")];
        let said = |(name, text)| {
            let path = folder.path().join(format!("{name}.out"));
            std::fs::read_to_string(path).unwrap() == text
        };
        while !expected.into_iter().all(said) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(handle.signal(0).is_err());
        while handle.signal(10).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let over = handle.spawn(Spawn::new(["true"], 1));
        assert!(matches!(over, Err(Error::Over)), "{over:?}");
    });
    let outcome = running.wait().unwrap();
    other.join().unwrap();
    assert_eq!((outcome.status, outcome.failure), (0, None));
}

#[test]
fn a_failure_is_told_and_is_the_outcome() {
    let (tell, told) = std::sync::mpsc::channel();
    let (launch, _folder) = shell("exit 3");
    let outcome = launch
        .on_notice(move |notice| tell.send(notice.clone()).unwrap())
        .run()
        .unwrap();
    let failure = outcome.failure.unwrap();
    assert_eq!(outcome.status, 3);
    assert!(failure.starts_with("rank 0 on "), "{failure}");
    let notice = told.recv().unwrap();
    let expected = Notice::Failed {
        what: failure,
        ends_others: false,
    };
    assert_eq!(notice, expected);
    assert!(told.recv().is_err());
}

#[test]
fn a_program_that_is_not_there_is_the_outcome_too() {
    let outcome = Launch::new(["/no/such/program"], 2).run().unwrap();
    assert_eq!(outcome.status, 127);
    assert!(outcome.failure.unwrap().contains("/no/such/program"));
}

#[test]
fn a_job_that_is_dropped_leaves_nothing() {
    let (launch, folder) = shell(&format!("echo $$; {SLEEP}"));
    let running = launch.start().unwrap();
    let handle = running.handle();
    let output = folder.path().join("0.out");
    let pid = loop {
        let text = std::fs::read_to_string(&output).unwrap();
        if let Some(pid) = text.strip_suffix('\n') {
            break pid.to_owned();
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    drop(running);
    assert!(!std::path::Path::new("/proc").join(pid).exists());
    assert!(matches!(handle.signal(15), Err(Error::Over)));
}
