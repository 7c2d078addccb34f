//! Reports on their way ([NODE-3.2]): each is told to a few random nodes a few times, which do the same.

use std::collections::BTreeMap;

use crate::Node;
use crate::message::REPORTS_MAX;
use crate::standing::{Report, Standing};

#[derive(Debug)]
struct Rumour {
    standing: Standing,
    /// How often it will still be told.
    left: u32,
}

/// Reports that are still to be told, the latest of each node.
#[derive(Debug, Default)]
pub struct Rumours(BTreeMap<Node, Rumour>);

impl Rumours {
    /// A report is to be told, in a system of so many nodes; it takes the place of what was told of the node before.
    pub fn spread(&mut self, report: Report, nodes: usize) {
        // Each tells three others: after half the logarithm of base 2 nearly all know, the rest is margin.
        let left = nodes.max(1).ilog2() / 2 + 3;
        let Report { node, standing } = report;
        self.0.insert(node, Rumour { standing, left });
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is told this time: the freshest reports.
    pub fn next(&mut self) -> Vec<Report> {
        let mut freshest: Vec<_> = self.0.iter().map(|(n, r)| (r.left, *n)).collect();
        if freshest.len() > REPORTS_MAX {
            freshest.select_nth_unstable_by(REPORTS_MAX, |a, b| b.cmp(a));
            freshest.truncate(REPORTS_MAX);
        }
        let mut told = Vec::new();
        for (_, node) in freshest {
            let Some(rumour) = self.0.get_mut(&node) else {
                continue;
            };
            let standing = rumour.standing;
            told.push(Report { node, standing });
            rumour.left -= 1;
            if rumour.left == 0 {
                self.0.remove(&node);
            }
        }
        told
    }
}
