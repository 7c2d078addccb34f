//! Who watches whom ([NODE-2.1]): all nodes that are not isolated stand in a ring, and each watches the next ones.

use bcl_types::scrambled;

use crate::Node;

/// In the order of the ring, which is not that of the addresses, so that machines that fail together seldom stand together.
#[derive(Debug, Default)]
pub struct Ring(Vec<(u64, Node)>);

fn place(node: Node) -> u64 {
    scrambled(u64::from(node) + 1)
}

impl Ring {
    pub fn insert(&mut self, node: Node) {
        let entry = (place(node), node);
        if let Err(at) = self.0.binary_search(&entry) {
            self.0.insert(at, entry);
        }
    }

    pub fn remove(&mut self, node: Node) {
        if let Ok(at) = self.0.binary_search(&(place(node), node)) {
            self.0.remove(at);
        }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The nodes after `node`, all the way round.
    pub fn after(&self, node: Node) -> impl Iterator<Item = Node> {
        let at = self.0.partition_point(|entry| *entry < (place(node), node));
        let (earlier, later) = self.0.split_at(at);
        let around = later.iter().chain(earlier).map(|(_, node)| *node);
        around.filter(move |other| *other != node)
    }

    /// Any of them.
    pub fn any(&self, random: u64) -> Option<Node> {
        let index = random.checked_rem(self.0.len() as u64)?;
        self.0.get(index as usize).map(|(_, node)| *node)
    }
}

#[test]
fn it_goes_round_and_leaves_oneself_out() {
    let mut ring = Ring::default();
    (1..=5).for_each(|node| ring.insert(node));
    for node in 1..=5 {
        let mut others: Vec<_> = ring.after(node).collect();
        assert_eq!(ring.after(others[0]).last(), Some(node));
        others.sort_unstable();
        assert_eq!(others, (1..=5).filter(|n| *n != node).collect::<Vec<_>>());
    }
    ring.remove(3);
    assert!(!ring.after(1).any(|node| node == 3));
    assert_eq!(ring.after(3).count(), 4);
}
