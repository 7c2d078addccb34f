//! A host of a job, which is reached when it is needed: at the beginning, or for a spawn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl::NodeId;
use rustix::event::PollFd;

use crate::error::{Error, Result};
use crate::roster::not_started;
use crate::site::{Order, Report, Site};

use super::link::Link;
use super::team::Team;

/// How long a helper may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A host with or without a helper.
pub struct RemoteHost {
    team: Arc<Team>,
    /// Which of the team's hosts.
    number: usize,
    state: State,
    /// Not reported yet.
    news: Vec<Report>,
}

enum State {
    /// Nobody is there.
    Apart,
    /// The helper has been started, and has not said who it is.
    Met {
        link: Link,
        until: Instant,
        /// For later.
        orders: Vec<Order>,
    },
    Joined(Link),
}

impl RemoteHost {
    pub fn new(team: &Arc<Team>, number: usize) -> Self {
        Self {
            team: Arc::clone(team),
            number,
            state: State::Apart,
            news: Vec::new(),
        }
    }

    /// Begins to reach it.
    pub fn meet(&mut self) -> Result<()> {
        self.state = State::Met {
            link: self.team.open(self.number)?,
            until: Instant::now() + PATIENCE,
            orders: Vec::new(),
        };
        Ok(())
    }

    /// Takes in what has come from one that was met. Whether it has said who it is.
    pub fn greet(&mut self) -> Result<bool> {
        let State::Met { link, until, .. } = &mut self.state else {
            return Ok(true);
        };
        let mut reports = Vec::new();
        link.advance(&mut reports);
        // Nothing else is allowed to come yet.
        if let Some(Report::Lost { text }) = reports.into_iter().next() {
            return Err(Error::Unreached(text));
        }
        let has_said = link.hello().is_some();
        if !has_said && Instant::now() >= *until {
            let text = format!("host {} has not answered for {PATIENCE:?}", link.host());
            return Err(Error::Unreached(text));
        }
        Ok(has_said)
    }

    /// Its node number, if it has said who it is.
    pub fn node(&self) -> Result<Option<NodeId>> {
        let hello = self.link().and_then(Link::hello);
        hello
            .map(|hello| self.team.node(self.number, hello))
            .transpose()
    }

    /// Makes one that has said who it is a host of the job.
    pub fn join(&mut self) -> Result<()> {
        let State::Met { link, .. } = &self.state else {
            return Ok(());
        };
        let Some(hello) = link.hello() else {
            return Ok(());
        };
        let begin = self.team.welcome(self.number, hello)?;
        if let State::Met {
            mut link, orders, ..
        } = std::mem::replace(&mut self.state, State::Apart)
        {
            link.begin(begin);
            orders.iter().for_each(|order| link.obey(order));
            self.state = State::Joined(link);
        }
        Ok(())
    }

    /// It is not reached: no process will be started there.
    fn give_up(&mut self, error: &Error) {
        let State::Met { orders, .. } = std::mem::replace(&mut self.state, State::Apart) else {
            return;
        };
        for order in orders {
            self.refuse(&order, error);
        }
    }

    fn refuse(&mut self, order: &Order, error: &Error) {
        if let Order::Start(start) = order {
            let why = not_started(error.status(), error.to_string());
            let processes = start.processes();
            self.news
                .extend(processes.map(|(process, _)| Report::NotStarted {
                    process,
                    why: why.clone(),
                }));
        }
    }

    /// A helper that has gone while it had no processes is no loss: another one is asked.
    fn part_from_the_dead(&mut self) {
        if let State::Joined(link) = &mut self.state {
            // What it has said last may not have been looked at.
            link.advance(&mut self.news);
            if !link.is_open() {
                self.state = State::Apart;
            }
        }
    }

    fn link(&self) -> Option<&Link> {
        match &self.state {
            State::Apart => None,
            State::Met { link, .. } | State::Joined(link) => Some(link),
        }
    }
}

impl Site for RemoteHost {
    fn add_to<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        if let Some(link) = self.link() {
            link.add_to(fds);
        }
    }

    fn next_time(&self) -> Option<Instant> {
        match &self.state {
            _ if !self.news.is_empty() => Some(Instant::now()),
            State::Apart => None,
            State::Met { until, .. } => Some(*until),
            State::Joined(link) => link.next_time(),
        }
    }

    fn advance(&mut self, reports: &mut Vec<Report>) {
        if let State::Joined(link) = &mut self.state {
            link.advance(reports);
        } else if let Err(error) = self.greet().and_then(|has_said| match has_said {
            true => self.join(),
            false => Ok(()),
        }) {
            self.give_up(&error);
        }
        reports.append(&mut self.news);
    }

    fn obey(&mut self, order: &Order) {
        if matches!(order, Order::Start(_)) {
            self.part_from_the_dead();
            if matches!(self.state, State::Apart) {
                if let Err(error) = self.meet() {
                    return self.refuse(order, &error);
                }
            }
        }
        match (&mut self.state, order) {
            (State::Apart, _) => {}
            (State::Met { .. }, Order::Signal(libc::SIGKILL)) => {
                self.give_up(&Error::Refused("the job is being ended".into()));
            }
            (State::Met { orders, .. }, order) => orders.push(order.clone()),
            (State::Joined(link), order) => link.obey(order),
        }
    }

    fn is_running(&self) -> bool {
        let is_about_to = match &self.state {
            State::Apart => false,
            State::Met { orders, .. } => !orders.is_empty(),
            State::Joined(link) => link.is_running(),
        };
        is_about_to || !self.news.is_empty()
    }

    fn release(&mut self) {
        match &mut self.state {
            State::Joined(link) => link.release(),
            _ => self.state = State::Apart,
        }
    }

    fn is_open(&self) -> bool {
        self.link().is_some_and(Link::is_open)
    }

    fn abandon(&mut self) {
        match &mut self.state {
            State::Joined(link) => link.abandon(),
            _ => self.state = State::Apart,
        }
        self.news.clear();
    }

    fn host(&self) -> &str {
        match self.link() {
            Some(link) => link.host(),
            None => &self.team.hosts[self.number].name,
        }
    }
}
