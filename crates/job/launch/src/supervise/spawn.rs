//! Processes that are started while the job runs, and what else a process may ask.

use std::collections::BTreeMap;
use std::ffi::OsString;

use bcl::job::{Answer, Spawn, Spawned, request};

use crate::handle::Command;
use crate::process::Start;
use crate::roster::Asker;
use crate::site::Order;
use crate::talk::Nonsense;

use super::{Ending, Supervisor};

/// Most processes that a job may have had: their numbers and names are kept to its end.
const PROCESSES_MAX: usize = 1 << 20;

impl Supervisor {
    /// Does what whoever has a handle wants.
    pub(super) fn obey_handles(&mut self) {
        while let Some(command) = self.desk.next() {
            match command {
                Command::Signal(signal) => self.tell_all(&Order::Signal(signal)),
                Command::Spawn(spawn, tell) => self.spawn(spawn, Asker::Handle(tell)),
            }
        }
    }

    /// A process asks for something.
    pub(super) fn on_request(
        &mut self,
        process: u32,
        kind: u32,
        payload: &[u8],
    ) -> Result<(), Nonsense> {
        if self.roster.process(process).is_asking {
            return Err(Nonsense);
        }
        match kind {
            request::SPAWN => {
                let spawn = Spawn::from_bytes(payload).ok_or(Nonsense)?;
                self.roster.process(process).is_asking = true;
                self.spawn(spawn, Asker::Process(process));
            }
            request::PARENT => {
                let group = self.roster.process(process).name.group;
                let blob = self.roster.group(group).blob.clone();
                self.tell(process, Answer::Parent(blob).to_bytes());
            }
            _ => self.tell(process, Answer::NotSupported.to_bytes()),
        }
        Ok(())
    }

    fn spawn(&mut self, spawn: Spawn, asker: Asker) {
        match self.homes_of(&spawn) {
            Ok(homes) => {
                let group = self.roster.add_spawned(&homes, spawn.blob, asker);
                self.start(group, &homes, &spawn.command, &spawn.environment);
            }
            Err(reason) => self.answer(asker, Answer::Refused(reason)),
        }
    }

    /// The sites for its processes, which have a place for their output then.
    fn homes_of(&mut self, spawn: &Spawn) -> Result<Vec<usize>, String> {
        if let Some(mistake) = spawn.mistake() {
            return Err(mistake);
        }
        if self.is_over || self.ending != Ending::No {
            return Err("the job is being ended".into());
        }
        let count = spawn.count as usize;
        if self.roster.len() + count > PROCESSES_MAX {
            return Err(format!(
                "a job has at most {PROCESSES_MAX} processes, from its beginning to its end"
            ));
        }
        let home = match &spawn.host {
            Some(host) => Some(self.placement.find(host)?),
            None => None,
        };
        let names = self.roster.next_names(spawn.count);
        self.outlet.add(names).map_err(|error| error.to_string())?;
        Ok(match home {
            Some(home) => vec![home; count],
            None => self.placement.next(count),
        })
    }

    /// Has the sites start a group.
    pub(super) fn start(
        &mut self,
        group: u32,
        homes: &[usize],
        command: &[OsString],
        environment: &[(OsString, OsString)],
    ) {
        let mut ranks: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for (home, rank) in homes.iter().zip(0..) {
            ranks.entry(*home).or_default().push(rank);
        }
        let first = self.roster.group(group).first;
        for (home, ranks) in ranks {
            self.sites[home].obey(&Order::Start(Box::new(Start {
                command: command.to_vec(),
                environment: environment.to_vec(),
                group,
                size: homes.len() as u32,
                first,
                ranks,
            })));
        }
    }

    /// A process was started, or could not be.
    pub(super) fn settle(&mut self, process: u32, result: Spawned) {
        if let Some((asker, answer)) = self.roster.settle(process, result) {
            self.answer(asker, answer);
        }
    }

    fn answer(&mut self, asker: Asker, answer: Answer) {
        match asker {
            Asker::Process(process) => {
                self.roster.process(process).is_asking = false;
                self.tell(process, answer.to_bytes());
            }
            // It need not wait any more.
            Asker::Handle(tell) => drop(tell.send(answer)),
        }
    }
}
