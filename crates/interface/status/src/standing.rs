//! What is known of a node, and which of two reports holds ([NODE-1]).

use crate::Node;

/// What a node is to the others. The order is that in which one report replaces another of the same life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It says that it is there; nobody has seen it answer yet.
    Rejoining,
    /// It answers.
    Alive,
    /// It does not, and what comes from it is refused until it rejoins.
    Isolated,
}

impl State {
    /// As it travels.
    pub fn number(self) -> u8 {
        match self {
            Self::Rejoining => 1,
            Self::Alive => 2,
            Self::Isolated => 3,
        }
    }

    /// From what travelled.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Rejoining, Self::Alive, Self::Isolated]
            .into_iter()
            .find(|state| state.number() == number)
    }
}

/// What is known of a node. A larger one holds against a smaller one: a later boot against an earlier, a later life
/// against an earlier, and of one life what has happened last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Standing {
    /// When its agent took up its work, in ns of its wall clock: larger after each reboot.
    pub incarnation: u64,
    /// Counts how often it has come back since then.
    pub life: u32,
    /// What it is.
    pub state: State,
}

/// Who is said to be what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Report {
    /// Of whom.
    pub node: Node,
    /// What.
    pub standing: Standing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_against_what() {
        let standing = |incarnation, life, state| Standing {
            incarnation,
            life,
            state,
        };
        let ascending = [
            standing(1, 0, State::Rejoining),
            standing(1, 0, State::Alive),
            standing(1, 0, State::Isolated),
            standing(1, 1, State::Rejoining),
            standing(2, 0, State::Rejoining),
        ];
        assert!(ascending.is_sorted_by(|a, b| a < b));
    }
}
