//! Who is in a job: its processes, by number, and the groups in which they were started.

use std::sync::mpsc::Sender;

use bcl::job::{Answer, NotStarted, Spawned};

use crate::exchange::Exchange;
use crate::name::Name;
use crate::talk::Talk;

/// The processes of a job, and their groups. Numbers are never given twice.
#[derive(Debug, Default)]
pub struct Roster {
    processes: Vec<Process>,
    groups: Vec<Group>,
}

/// One process.
#[derive(Debug)]
pub struct Process {
    pub name: Name,
    /// The number of its site.
    pub home: usize,
    pub talk: Talk,
    /// Whether it waits for the answer to a spawn.
    pub is_asking: bool,
}

/// Processes that were started together.
#[derive(Debug)]
pub struct Group {
    /// The number of the one with rank 0; the others follow.
    pub first: u32,
    pub exchange: Exchange,
    /// What came with the spawn.
    pub blob: Option<Vec<u8>>,
    /// As long as not all have been started.
    spawn: Option<Pending>,
}

#[derive(Debug)]
struct Pending {
    asker: Asker,
    results: Vec<Option<Spawned>>,
}

/// Who wants to know what became of a spawn.
#[derive(Debug)]
pub enum Asker {
    /// A process of the job.
    Process(u32),
    /// Whoever has a handle.
    Handle(Sender<Answer>),
}

impl Roster {
    /// Number of processes so far.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// What the next processes will be called, if they are added as one group.
    pub fn next_names(&self, count: u32) -> impl Iterator<Item = Name> + use<> {
        let group = self.groups.len() as u32;
        (0..count).map(move |rank| Name { group, rank })
    }

    /// Adds those that the job begins with, by the sites they are for. Returns the number of their group.
    pub fn add(&mut self, homes: &[usize]) -> u32 {
        let (group, first) = (self.groups.len() as u32, self.len() as u32);
        let processes = homes.iter().zip(0..).map(|(home, rank)| Process {
            name: Name { group, rank },
            home: *home,
            talk: Talk::default(),
            is_asking: false,
        });
        self.processes.extend(processes);
        self.groups.push(Group {
            first,
            exchange: Exchange::new(homes.len()),
            blob: None,
            spawn: None,
        });
        group
    }

    /// Adds those that somebody wants to be spawned.
    pub fn add_spawned(&mut self, homes: &[usize], blob: Vec<u8>, asker: Asker) -> u32 {
        let number = self.add(homes);
        let group = self.group(number);
        group.blob = Some(blob);
        group.spawn = Some(Pending {
            asker,
            results: vec![None; homes.len()],
        });
        number
    }

    pub fn process(&mut self, process: u32) -> &mut Process {
        &mut self.processes[process as usize]
    }

    pub fn group(&mut self, group: u32) -> &mut Group {
        &mut self.groups[group as usize]
    }

    /// Numbers of a group.
    pub fn members(&self, group: u32) -> std::ops::Range<u32> {
        let bounds = self.groups[group as usize..]
            .iter()
            .map(|group| group.first);
        let mut bounds = bounds.chain([self.len() as u32]);
        bounds.next().unwrap_or(0)..bounds.next().unwrap_or(0)
    }

    /// Those of a site of whose start nothing is known yet.
    pub fn unsettled_at(&self, home: usize) -> Vec<u32> {
        let all = self.processes.iter().zip(0..);
        let unsettled = all.filter(|(process, _)| {
            let group = &self.groups[process.name.group as usize];
            let rank = process.name.rank as usize;
            let pending = group.spawn.as_ref();
            process.home == home && pending.is_some_and(|spawn| spawn.results[rank].is_none())
        });
        unsettled.map(|(_, process)| process).collect()
    }

    /// A process was started, or could not be. If it was the last of a spawn: who is to be told what.
    pub fn settle(&mut self, process: u32, result: Spawned) -> Option<(Asker, Answer)> {
        let Name { group, rank } = self.processes[process as usize].name;
        let group = &mut self.groups[group as usize];
        if result.is_err() {
            group.exchange.end(rank as usize);
        }
        let pending = group.spawn.as_mut()?;
        pending.results[rank as usize].get_or_insert(result);
        if pending.results.iter().any(Option::is_none) {
            return None;
        }
        let pending = group.spawn.take()?;
        let results = pending.results.into_iter().flatten().collect();
        Some((pending.asker, Answer::Spawned(results)))
    }

    /// All who wait for somebody that will never come.
    pub fn waiting_in_vain(&self) -> Vec<u32> {
        let groups = self.groups.iter();
        let waiting = groups.flat_map(|group| {
            let ranks = group.exchange.waiting_in_vain().into_iter();
            ranks.map(|rank| group.first + rank as u32)
        });
        waiting.collect()
    }
}

/// A start that did not come to pass.
pub fn not_started(status: u8, reason: impl Into<String>) -> NotStarted {
    NotStarted {
        status,
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcl::job::Child;

    #[test]
    fn groups_follow_each_other_and_the_asker_is_told_once_all_is_known() {
        let mut roster = Roster::default();
        assert_eq!(roster.add(&[0, 1]), 0);
        let (tell, _) = std::sync::mpsc::channel();
        assert_eq!(
            roster.add_spawned(&[1, 0], b"x".into(), Asker::Handle(tell)),
            1
        );
        assert_eq!((roster.members(0), roster.members(1)), (0..2, 2..4));
        assert_eq!(roster.process(3).name.to_string(), "1.1");
        assert_eq!(roster.unsettled_at(0), [3]);
        let child = Child {
            host: "left".into(),
            pid: 1,
        };
        assert!(roster.settle(3, Ok(child.clone())).is_none());
        assert!(roster.unsettled_at(0).is_empty());
        let reason = not_started(127, "no such program");
        let (_, answer) = roster.settle(2, Err(reason.clone())).unwrap();
        assert_eq!(answer, Answer::Spawned(vec![Err(reason), Ok(child)]));
        // Rank 1 need not wait for rank 0.
        roster.group(1).exchange.give(1, b"y".into());
        assert_eq!(roster.waiting_in_vain(), [3]);
    }
}
