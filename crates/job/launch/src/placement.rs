//! Which host takes the next processes.

use crate::hosts::{Host, MapBy};
use crate::machine::own_names;

/// Hosts by number, and how processes go round them.
#[derive(Debug)]
pub struct Placement {
    /// What each host may be called.
    names: Vec<Vec<String>>,
    /// The host of each slot.
    round: Vec<usize>,
    /// So many slots are taken, in as many rounds as that takes.
    placed: usize,
}

impl Placement {
    /// On this host alone.
    pub fn here() -> Self {
        Self {
            names: vec![own_names().into()],
            round: vec![0],
            placed: 0,
        }
    }

    /// On these hosts.
    pub fn on(hosts: &[Host], map_by: MapBy) -> Self {
        let all = hosts.iter().enumerate();
        let mut round: Vec<(usize, usize)> = all
            .flat_map(|(number, host)| (0..host.slots).map(move |slot| (slot, number)))
            .collect();
        if map_by == MapBy::Node {
            round.sort();
        }
        let names = |host: &Host| vec![host.name.clone(), host.node_name().to_owned()];
        Self {
            names: hosts.iter().map(names).collect(),
            round: round.into_iter().map(|(_, number)| number).collect(),
            placed: 0,
        }
    }

    /// For each of the next processes the number of its host. Where there are more than slots, it begins again from the
    /// first.
    pub fn next(&mut self, count: usize) -> Vec<usize> {
        let slots = self
            .round
            .iter()
            .cycle()
            .skip(self.placed % self.round.len().max(1));
        self.placed += count;
        slots.copied().take(count).collect()
    }

    /// The number of a host.
    pub fn find(&self, name: &str) -> Result<usize, String> {
        let is_called_so = |names: &Vec<String>| names.iter().any(|own| own == name);
        self.names.iter().position(is_called_so).ok_or_else(|| {
            let known: Vec<_> = self.names.iter().map(|names| names[0].as_str()).collect();
            format!(
                "{name} is not one of the job's hosts, which are {}",
                known.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(text: &str, map_by: MapBy) -> Placement {
        let hosts: Vec<Host> = text.split(',').map(|host| host.parse().unwrap()).collect();
        Placement::on(&hosts, map_by)
    }

    #[test]
    fn processes_fill_slots_or_go_round() {
        let place = |count, map_by| placement("a:2,b,c:3", map_by).next(count);
        assert_eq!(place(6, MapBy::Slot), [0, 0, 1, 2, 2, 2]);
        assert_eq!(place(6, MapBy::Node), [0, 1, 2, 0, 2, 2]);
        assert_eq!(place(8, MapBy::Slot), [0, 0, 1, 2, 2, 2, 0, 0]);
        assert_eq!(place(2, MapBy::Node), [0, 1]);
    }

    #[test]
    fn later_processes_go_on_where_the_first_have_ended() {
        let mut placement = placement("a:2,me@b", MapBy::Slot);
        assert_eq!(placement.next(1), [0]);
        assert_eq!(placement.next(4), [0, 1, 0, 0]);
        assert_eq!(placement.next(1), [1]);
        assert_eq!(
            (placement.find("b"), placement.find("me@b")),
            (Ok(1), Ok(1))
        );
        assert!(placement.find("c").unwrap_err().contains("a, me@b"));
        assert_eq!(Placement::here().find("localhost"), Ok(0));
    }
}
