//! Against an agent that says what the test wants, when it wants.

use std::os::fd::OwnedFd;

use super::*;
use crate::line::listen_at;
use bcl_agent_messages::{Code, Failure, MAX_BYTES, VERSION};
use bcl_node::fdpass;
use rustix::net::accept;
use tempfile::TempDir;

struct Stage {
    folder: TempDir,
    listener: Option<OwnedFd>,
    queue: RequestQueue,
    now: Instant,
}

/// The agent's end of a line.
struct End(OwnedFd);

impl Stage {
    /// With an agent that has opened the port, or without any.
    fn new(has_agent: bool) -> (Self, Option<End>) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("agent.sock");
        let mut stage = Self {
            queue: RequestQueue::new(path.clone(), Ipv4Addr::LOCALHOST, 7, None).unwrap(),
            folder,
            listener: None,
            now: Instant::now(),
        };
        if !has_agent {
            return (stage, None);
        }
        stage.listen();
        let line = Line::dial_at_once(&path).unwrap();
        let end = stage.accept();
        stage.queue.line = Some((line, super::Stage::Ready));
        (stage, Some(end))
    }

    fn listen(&mut self) {
        let path = self.folder.path().join("agent.sock");
        let _ = std::fs::remove_file(&path);
        self.listener = Some(listen_at(&path, 8));
    }

    fn accept(&self) -> End {
        End(accept(self.listener.as_ref().unwrap()).unwrap())
    }

    /// Somebody starts an agent that resumes the port.
    fn restart(&mut self) -> End {
        self.listen();
        self.wait(LAST_PAUSE);
        let end = self.accept();
        end.greet();
        self.poll_nothing();
        let (node, number) = (Ipv4Addr::LOCALHOST, 7);
        assert_eq!(end.hear(), Some(Request::Resume { node, number }));
        end.say(&Answer::Done {});
        end
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        self.poll_nothing();
    }

    fn poll_nothing(&mut self) {
        let outcome = self.queue.poll(self.now);
        assert!(outcome.is_none(), "{outcome:?}");
    }

    fn poll(&mut self) -> (Request, Result<Answer, bool>) {
        let outcome = self.queue.poll(self.now).expect("an outcome");
        let result = outcome.result.map_err(|unanswered| unanswered.may_be_done);
        (outcome.request, result)
    }

    fn is_readable(&self) -> bool {
        let mut fds = [rustix::event::PollFd::new(
            &self.queue,
            rustix::event::PollFlags::IN,
        )];
        let zero = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        rustix::event::poll(&mut fds, Some(&zero)) == Ok(1)
    }
}

impl End {
    fn hear(&self) -> Option<Request> {
        let mut buffer = [0; MAX_BYTES];
        let received = fdpass::recv(&self.0, &mut buffer).ok()?;
        Some(bcl_agent_messages::read(&buffer[..received.len_bytes]).unwrap())
    }

    fn say(&self, answer: &Answer) {
        fdpass::send(&self.0, &bcl_agent_messages::write(answer).unwrap(), &[]).unwrap();
    }

    fn greet(&self) {
        self.say(&Answer::Ready {
            version: VERSION,
            agent: String::new(),
            interfaces: Vec::new(),
        });
    }
}

fn unbind(window: u16) -> Request {
    Request::Unbind { window }
}

fn remove(connection: u32) -> Request {
    Request::Remove {
        connection,
        ended: false,
        unheard: false,
    }
}

fn refusal() -> Answer {
    Answer::Failed(Failure {
        code: Code::Unknown,
        what: String::new(),
        why: String::new(),
        remedy: String::new(),
    })
}

#[test]
fn answers_come_in_the_order_of_requests() {
    let (mut stage, end) = Stage::new(true);
    let end = end.unwrap();
    stage.queue.ask(stage.now, unbind(1));
    stage.queue.ask_until_done(stage.now, remove(2));
    assert_eq!([end.hear(), end.hear()], [Some(unbind(1)), Some(remove(2))]);
    stage.poll_nothing();
    assert!(!stage.is_readable());
    end.say(&refusal());
    end.say(&Answer::Removed { state: None });
    assert!(stage.is_readable());
    assert_eq!(stage.poll(), (unbind(1), Err(false)));
    let removed = Answer::Removed { state: None };
    assert_eq!(stage.poll(), (remove(2), Ok(removed)));
    assert!(!stage.queue.is_waiting() && !stage.is_readable());
    // An agent that ends while nothing is expected of it wakes nobody.
    drop(end);
    assert!(!stage.is_readable() && stage.queue.next_timeout().is_none());
}

#[test]
fn what_an_agent_was_asked_for_that_has_ended_may_be_done_or_is_asked_for_again() {
    let (mut stage, end) = Stage::new(true);
    stage.queue.ask_until_done(stage.now, remove(1));
    stage.queue.ask(stage.now, unbind(2));
    stage.queue.ask_until_done(stage.now, remove(3));
    drop((end, stage.listener.take()));
    assert!(stage.is_readable());
    assert_eq!(stage.poll(), (unbind(2), Err(true)));
    // Nobody is there: what is of use only now fails.
    stage.queue.ask(stage.now, unbind(4));
    assert_eq!(stage.poll(), (unbind(4), Err(false)));
    let end = stage.restart();
    stage.poll_nothing();
    assert_eq!([end.hear(), end.hear()], [Some(remove(1)), Some(remove(3))]);
    assert_eq!(end.hear(), None);
}

#[test]
fn an_agent_that_was_restarted_while_nothing_was_asked_is_found_at_once() {
    let (mut stage, end) = Stage::new(true);
    drop(end);
    stage.listen();
    stage.queue.ask(stage.now, unbind(1));
    let end = stage.accept();
    end.greet();
    stage.poll_nothing();
    assert!(matches!(end.hear(), Some(Request::Resume { .. })));
    end.say(&Answer::Done {});
    stage.poll_nothing();
    assert_eq!(end.hear(), Some(unbind(1)));
}

#[test]
fn an_agent_that_hangs_holds_nobody_up() {
    let (mut stage, end) = Stage::new(true);
    stage.queue.ask(stage.now, unbind(1));
    stage.queue.ask_until_done(stage.now, remove(2));
    assert_eq!(stage.queue.next_timeout(), Some(stage.now + HASTE));
    stage.wait(HASTE / 2);
    stage.now += HASTE;
    assert_eq!(stage.poll(), (unbind(1), Err(true)));
    assert_eq!(stage.queue.next_timeout(), None);
    // It was only slow: what was given up is of no interest any more.
    let end = end.unwrap();
    end.say(&Answer::Done {});
    end.say(&Answer::Removed { state: None });
    let removed = Answer::Removed { state: None };
    assert_eq!(stage.poll(), (remove(2), Ok(removed)));

    // Nor does one that takes connections and says nothing.
    drop(end);
    stage.queue.ask(stage.now, unbind(3));
    stage.poll_nothing();
    stage.now += HASTE;
    assert_eq!(stage.poll(), (unbind(3), Err(false)));
}

#[test]
fn memory_that_comes_too_late_is_freed() {
    let (mut stage, end) = Stage::new(true);
    let end = end.unwrap();
    let (wish, patience) = (Request::Memory { bytes: 1 }, 5 * HASTE);
    stage.queue.ask_within(stage.now, patience, wish.clone());
    assert_eq!(end.hear(), Some(wish.clone()));
    stage.wait(4 * HASTE);
    stage.now += HASTE;
    assert_eq!(stage.poll(), (wish, Err(true)));
    let (memory, bytes) = (7, 65_536);
    end.say(&Answer::Memory { memory, bytes });
    stage.poll_nothing();
    assert_eq!(end.hear(), Some(Request::Free { memory }));
    end.say(&Answer::Done {});
    stage.poll_nothing();
    assert!(!stage.queue.is_waiting());
}

#[test]
fn a_port_that_the_next_agent_does_not_know_is_asked_for_no_longer() {
    let (mut stage, _) = Stage::new(false);
    stage.queue.ask_until_done(stage.now, remove(1));
    stage.poll_nothing();
    assert!(stage.queue.next_timeout() > Some(stage.now));
    stage.listen();
    stage.wait(LAST_PAUSE);
    let end = stage.accept();
    end.greet();
    stage.poll_nothing();
    end.say(&refusal());
    assert_eq!(stage.poll(), (remove(1), Err(false)));
    assert!(!stage.queue.is_waiting());
}

#[test]
fn what_is_no_answer_ends_the_line() {
    let (mut stage, end) = Stage::new(true);
    let end = end.unwrap();
    stage.queue.ask(stage.now, unbind(1));
    fdpass::send(&end.0, b"{}", &[]).unwrap();
    assert_eq!(stage.poll(), (unbind(1), Err(true)));
    assert_eq!(end.hear(), Some(unbind(1)));
    assert!(fdpass::recv(&end.0, &mut [0; 8]).is_ok_and(|end| end.len_bytes == 0));
}
