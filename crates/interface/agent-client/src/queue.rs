//! Requests of a port, none of which is waited for.
//!
//! The agent is asked in order and answers in order. It may be slow, hang, end, or not be there at all: whoever asks
//! goes on, and is told what has become of the request when that is known. What must be done sooner or later is asked of
//! every agent that comes until one answers; what is of use only now is given up after a moment.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_agent_messages::{Answer, Request};
use bcl_node::fdpass::FdPassError;
use bcl_os::Fd;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use crate::error::AgentError;
use crate::line::{Line, check_greeting, unexpected};

/// What is of use only now is given up after this.
const HASTE: Duration = Duration::from_millis(100);
/// Until an agent that was not there is looked for again, at first and at last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// Requests of a port to whichever agent there is, and what has become of them: nothing here blocks.
#[derive(Debug)]
pub struct RequestQueue {
    path: PathBuf,
    node: Ipv4Addr,
    number: u16,
    line: Option<(Line, Stage)>,
    /// Were sent, and are answered in this order.
    asked: VecDeque<Pending>,
    unsent: VecDeque<Pending>,
    outcomes: VecDeque<Outcome>,
    /// When an agent is looked for again if there is none, after what pause the time after that, and what was wrong.
    again_at: Instant,
    pause: Duration,
    trouble: Arc<AgentError>,
    /// Has the line in it while an answer is awaited, so that sleepers need not know which line it is.
    set: Fd,
    is_watching: bool,
}

/// How far a line to the agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Whether it is an agent that can be talked to is not known yet.
    Greeting,
    /// It has been asked for the port that another agent has opened.
    Resuming,
    Ready,
}

#[derive(Debug)]
struct Pending {
    request: Request,
    /// When it is of no use any more, if ever.
    until: Option<Instant>,
    /// Which is so long after it was asked for.
    patience: Duration,
    /// Nobody waits for the answer any more.
    is_given_up: bool,
}

/// What has become of a request.
#[derive(Debug)]
pub struct Outcome {
    /// What was asked for.
    pub request: Request,
    /// Never [`Answer::Failed`].
    pub result: Result<Answer, Unanswered>,
    /// What came beside the answer.
    pub descriptors: Vec<Fd>,
}

/// Why there is no answer, or none that helps.
#[derive(Debug)]
pub struct Unanswered {
    /// The reason.
    pub error: Arc<AgentError>,
    /// An agent was asked, and may have done it.
    pub may_be_done: bool,
}

impl RequestQueue {
    /// For a port that an agent at `path` has opened; `line` is the port's.
    pub(crate) fn new(
        path: PathBuf,
        node: Ipv4Addr,
        number: u16,
        line: Option<Line>,
    ) -> Result<Self, Errno> {
        Ok(Self {
            path,
            node,
            number,
            line: line.map(|line| (line, Stage::Ready)),
            asked: VecDeque::new(),
            unsent: VecDeque::new(),
            outcomes: VecDeque::new(),
            again_at: Instant::now(),
            pause: FIRST_PAUSE,
            trouble: Arc::new(AgentError::Gone),
            set: Fd::make(|| epoll::create(CreateFlags::CLOEXEC))?,
            is_watching: false,
        })
    }

    /// Asks for what is of use only now.
    pub fn ask(&mut self, now: Instant, request: Request) {
        self.ask_within(now, HASTE, request);
    }

    /// Asks for what is of use within a time. Memory that is made later is freed.
    pub fn ask_within(&mut self, now: Instant, patience: Duration, request: Request) {
        self.push(now, request, Some(now + patience), patience);
    }

    /// Asks for what must be done, whenever that is.
    pub fn ask_until_done(&mut self, now: Instant, request: Request) {
        self.push(now, request, None, Duration::MAX);
    }

    fn push(&mut self, now: Instant, request: Request, until: Option<Instant>, patience: Duration) {
        self.unsent.push_back(Pending {
            request,
            until,
            patience,
            is_given_up: false,
        });
        self.advance(now);
    }

    /// The next request of which it is known what has become of it.
    pub fn poll(&mut self, now: Instant) -> Option<Outcome> {
        if self.outcomes.is_empty() && self.is_waiting() {
            self.advance(now);
        }
        self.outcomes.pop_front()
    }

    /// Whether [`poll`](Self::poll) will have something to do: now, when the descriptor is readable, or when the time
    /// comes.
    pub fn is_waiting(&self) -> bool {
        !(self.asked.is_empty() && self.unsent.is_empty() && self.outcomes.is_empty())
    }

    /// When to [`poll`](Self::poll) if nothing is readable before.
    pub fn next_timeout(&self) -> Option<Instant> {
        let useless = self.unsent.iter().chain(&self.asked);
        let useless = useless.filter_map(|pending| pending.until);
        let is_looking = self.line.is_none() && !self.unsent.is_empty();
        useless.chain(is_looking.then_some(self.again_at)).min()
    }

    /// Does what can be done now.
    fn advance(&mut self, now: Instant) {
        while match self.step(now) {
            Ok(goes_on) => goes_on,
            Err(error) => self.lose_line(now, error),
        } {}
        self.give_up_what_is_useless(now);
        self.watch();
    }

    /// True if there may be more to do.
    fn step(&mut self, now: Instant) -> Result<bool, AgentError> {
        let Some((line, stage)) = &mut self.line else {
            if self.unsent.is_empty() {
                return Ok(false);
            }
            if now < self.again_at {
                self.fail_unsent(|pending| pending.until.is_some());
                return Ok(false);
            }
            self.line = Some((Line::dial_at_once(&self.path)?, Stage::Greeting));
            return Ok(true);
        };
        if *stage == Stage::Ready {
            while let Some(pending) = self.unsent.pop_front() {
                if let Err(error) = line.say(&pending.request) {
                    self.unsent.push_front(pending);
                    match error {
                        AgentError::Socket(FdPassError::WouldBlock) => break,
                        error => return Err(error),
                    }
                }
                self.asked.push_back(pending);
            }
        }
        let Some((answer, descriptors)) = line.hear_at_once()? else {
            return Ok(false);
        };
        match stage {
            Stage::Greeting => {
                check_greeting(answer)?;
                let (node, number) = (self.node, self.number);
                line.say(&Request::Resume { node, number })?;
                *stage = Stage::Resuming;
            }
            Stage::Resuming => match answer {
                Answer::Done {} => {
                    *stage = Stage::Ready;
                    self.pause = FIRST_PAUSE;
                }
                Answer::Failed(failure) => return Err(AgentError::Refused(failure)),
                other => return Err(unexpected(&other)),
            },
            Stage::Ready => self.on_answer(answer, descriptors)?,
        }
        Ok(true)
    }

    fn on_answer(&mut self, answer: Answer, descriptors: Vec<Fd>) -> Result<(), AgentError> {
        let Some(pending) = self.asked.pop_front() else {
            return Err(unexpected(&answer));
        };
        let result = match answer {
            Answer::Memory { memory, .. } if pending.is_given_up => {
                self.unsent.push_back(Pending {
                    request: Request::Free { memory },
                    ..pending
                });
                return Ok(());
            }
            Answer::Failed(failure) => Err(Unanswered {
                error: Arc::new(AgentError::Refused(failure)),
                may_be_done: false,
            }),
            answer => Ok(answer),
        };
        if !pending.is_given_up {
            self.outcomes.push_back(Outcome {
                request: pending.request,
                result,
                descriptors,
            });
        }
        Ok(())
    }

    /// The agent has ended, is not there, or is none for us. True if another may be there by now.
    fn lose_line(&mut self, now: Instant, error: AgentError) -> bool {
        let had_port = matches!(self.line, Some((_, Stage::Ready)));
        let is_refused = matches!(error, AgentError::Refused(_));
        self.line = None;
        self.is_watching = false;
        self.trouble = Arc::new(error);
        for pending in std::mem::take(&mut self.asked).into_iter().rev() {
            match pending {
                Pending {
                    is_given_up: true, ..
                } => {}
                Pending { until: None, .. } => self.unsent.push_front(pending),
                Pending { request, .. } => self.fail(request, true),
            }
        }
        if !had_port {
            self.again_at = now + self.pause;
            self.pause = (2 * self.pause).min(LAST_PAUSE);
            // Another will not know the port either.
            self.fail_unsent(|pending| is_refused || pending.until.is_some());
        }
        had_port
    }

    fn fail_unsent(&mut self, is_concerned: impl Fn(&Pending) -> bool) {
        for pending in std::mem::take(&mut self.unsent) {
            match is_concerned(&pending) {
                true => self.fail(pending.request, false),
                false => self.unsent.push_back(pending),
            }
        }
    }

    fn fail(&mut self, request: Request, may_be_done: bool) {
        let error = Arc::clone(&self.trouble);
        self.outcomes.push_back(Outcome {
            request,
            result: Err(Unanswered { error, may_be_done }),
            descriptors: Vec::new(),
        });
    }

    /// The agent has not said anything for too long.
    fn give_up_what_is_useless(&mut self, now: Instant) {
        let is_useless = |pending: &Pending| pending.until.is_some_and(|until| until <= now);
        let all = self.asked.iter().chain(&self.unsent);
        let time = all
            .filter(|pending| is_useless(pending))
            .map(|pending| pending.patience)
            .min();
        let mut unsure = Vec::new();
        for pending in self.asked.iter_mut().filter(|pending| is_useless(pending)) {
            pending.until = None;
            pending.is_given_up = true;
            unsure.push(pending.request.clone());
        }
        if let Some(time) = time {
            self.trouble = Arc::new(AgentError::Silent { time });
        }
        for request in unsure {
            self.fail(request, true);
        }
        self.fail_unsent(is_useless);
    }

    /// The line is in the set exactly while something is expected of the agent: an agent that ends is no news else.
    fn watch(&mut self) {
        let Some((line, _)) = &self.line else {
            return;
        };
        let has_unsent = !self.unsent.is_empty();
        let is_wanted = has_unsent || !self.asked.is_empty();
        if is_wanted != self.is_watching {
            // If it cannot be watched, time passes until it is looked at.
            let _ = match is_wanted {
                true => epoll::add(&self.set, line, EventData::new_u64(0), EventFlags::IN),
                false => epoll::delete(&self.set, line),
            };
            self.is_watching = is_wanted;
        }
    }
}

/// Readable when the agent has said something that is waited for.
impl AsFd for RequestQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.set.as_fd()
    }
}

#[cfg(test)]
mod tests;
