//! The first rows of section 5 of issue 41 as a table: what is posted once for many.

use super::Compare::{AtMost, Below};
use super::Reference::Best;
use super::{Board, BoardFigure, Kind, Mark, Work, mark};
use crate::subject::Subject::{self, Bcl, BoardMessage, BoardOneByOne, BoardTree};

const NEAR_A_MESSAGE: Mark = mark(
    "1.29x a message to one",
    AtMost,
    1.29,
    Best(&[BoardMessage]),
);
const QUICKER_THAN_A_TREE: Mark = mark("below a tree of messages", Below, 1.0, Best(&[BoardTree]));

/// The rows.
pub const WORKS: &[Work] = &[
    row(
        "board-node",
        "billboard: 8 B to 4 processes, until the last has it; 2 cores",
        Board {
            members: 5,
            is_on_hosts: false,
            figure: BoardFigure::UntilAll,
        },
        &[Bcl, BoardMessage, BoardTree],
        &[NEAR_A_MESSAGE, QUICKER_THAN_A_TREE],
    ),
    row(
        "board-hosts",
        "billboard: 8 B to 4 hosts, until the last has it; 2 cores",
        Board {
            members: 5,
            is_on_hosts: true,
            figure: BoardFigure::UntilAll,
        },
        &[Bcl, BoardOneByOne, BoardTree],
        &[QUICKER_THAN_A_TREE],
    ),
    row(
        "board-hosts-kernels",
        "billboard: 8 B to 4 hosts, until the kernel of the last has it",
        Board {
            members: 5,
            is_on_hosts: true,
            figure: BoardFigure::Delivered,
        },
        &[Bcl, BoardOneByOne, BoardMessage],
        &[NEAR_A_MESSAGE],
    ),
    row(
        "board-hosts-post",
        "billboard: what posting 8 B for 8 hosts takes",
        Board {
            members: 9,
            is_on_hosts: true,
            figure: BoardFigure::Post,
        },
        &[Bcl, BoardOneByOne, BoardMessage],
        &[
            mark("1.5x a message to one", AtMost, 1.5, Best(&[BoardMessage])),
            mark("one by one 3x", AtMost, 3.0, Best(&[BoardMessage])).of(BoardOneByOne),
        ],
    ),
];

const fn row(
    name: &'static str,
    title: &'static str,
    board: Board,
    subjects: &'static [Subject],
    marks: &'static [Mark],
) -> Work {
    Work {
        name,
        title,
        unit: "us",
        kind: Kind::Board(board),
        wire: None,
        subjects,
        marks,
    }
}
