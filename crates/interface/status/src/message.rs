//! How reports travel ([NODE-3]). The packets that carry messages are checked by key; still nothing in them is believed to
//! be well formed.

use crate::Node;
use crate::standing::{Report, Standing, State};

/// Longest message in bytes: fits the payload of one packet on any path.
pub const LEN_MAX: usize = 1024;
/// Reports that fit into one.
pub const REPORTS_MAX: usize = (LEN_MAX - HEAD_BYTES) / REPORT_BYTES;

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 8;
const REPORT_BYTES: usize = 17;

/// What a message is for, beside the reports in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Only the reports.
    Tell,
    /// Probe this node and say whether it answers.
    Ask(Node),
    /// It has answered.
    Answers(Node),
    /// It has not. That says that the sender of this is not cut off.
    Silent(Node),
    /// The reports are all that the sender knows of the nodes from this one to the last in the reports, going round at
    /// the end of the numbers; of all nodes, if there is room for more reports. What is newer here is to be told.
    Compare(Node),
}

/// Some reports from one agent to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What for.
    pub purpose: Purpose,
    /// At most [`REPORTS_MAX`].
    pub reports: Vec<Report>,
}

impl Message {
    /// As it travels.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (number, node) = match self.purpose {
            Purpose::Tell => (1, 0),
            Purpose::Ask(node) => (2, node),
            Purpose::Answers(node) => (3, node),
            Purpose::Silent(node) => (4, node),
            Purpose::Compare(node) => (5, node),
        };
        let reports = &self.reports[..self.reports.len().min(REPORTS_MAX)];
        let mut bytes = Vec::with_capacity(HEAD_BYTES + reports.len() * REPORT_BYTES);
        bytes.extend_from_slice(&[VERSION, number]);
        bytes.extend_from_slice(&(reports.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&node.to_le_bytes());
        for report in reports {
            bytes.extend_from_slice(&report.node.to_le_bytes());
            bytes.extend_from_slice(&report.standing.incarnation.to_le_bytes());
            bytes.extend_from_slice(&report.standing.life.to_le_bytes());
            bytes.push(report.standing.state.number());
        }
        bytes
    }

    /// From what has arrived; `None` if it is no message of this version.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let [version, number, count @ .., n0, n1, n2, n3] = *head;
        let node = Node::from_le_bytes([n0, n1, n2, n3]);
        let purpose = match (version, number) {
            (VERSION, 1) => Purpose::Tell,
            (VERSION, 2) => Purpose::Ask(node),
            (VERSION, 3) => Purpose::Answers(node),
            (VERSION, 4) => Purpose::Silent(node),
            (VERSION, 5) => Purpose::Compare(node),
            _ => return None,
        };
        let count = usize::from(u16::from_le_bytes(count));
        if count > REPORTS_MAX || rest.len() != count * REPORT_BYTES {
            return None;
        }
        let reports = rest.chunks_exact(REPORT_BYTES).map(report);
        let reports = reports.collect::<Option<_>>()?;
        Some(Self { purpose, reports })
    }
}

fn report(bytes: &[u8]) -> Option<Report> {
    let (node, rest) = bytes.split_first_chunk()?;
    let (incarnation, rest) = rest.split_first_chunk()?;
    let (life, rest) = rest.split_first_chunk()?;
    let standing = Standing {
        incarnation: u64::from_le_bytes(*incarnation),
        life: u32::from_le_bytes(*life),
        state: State::from_number(*rest.first()?)?,
    };
    let node = Node::from_le_bytes(*node);
    Some(Report { node, standing })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reports() -> impl Strategy<Value = Vec<Report>> {
        let one = (any::<u32>(), any::<u64>(), any::<u32>(), 1u8..4);
        let one = one.prop_map(|(node, incarnation, life, state)| Report {
            node,
            standing: Standing {
                incarnation,
                life,
                state: State::from_number(state).expect("one of three"),
            },
        });
        prop::collection::vec(one, 0..=REPORTS_MAX)
    }

    proptest! {
        #[test]
        fn what_is_said_is_heard(reports in reports(), purpose in 0usize..5, node: u32) {
            let purpose = [
                Purpose::Tell, Purpose::Ask(node), Purpose::Answers(node), Purpose::Silent(node),
                Purpose::Compare(node),
            ][purpose];
            let message = Message { purpose, reports };
            let bytes = message.to_bytes();
            prop_assert!(bytes.len() <= LEN_MAX);
            prop_assert_eq!(Message::parse(&bytes), Some(message));
            prop_assert_eq!(Message::parse(&bytes[..bytes.len() - 1]), None);
        }

        #[test]
        fn anything_can_arrive(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(message) = Message::parse(&bytes) {
                // The field of a node that a purpose does not have is not looked at.
                prop_assert_eq!(message.to_bytes().len(), bytes.len());
            }
        }
    }
}
