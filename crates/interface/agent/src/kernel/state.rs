//! How far a connection has come: as the port says when it is entered ([AGENT-5.1]), and as the interface program has it
//! when it is told back ([AGENT-5.2]).

use bcl_agent_messages::{Key, Outcome, Progress, Refused};
use bcl_layout::Plain;
use bcl_layout::tables::{self as layout, Outcomes};

/// From what stands in the tables.
pub(super) fn progress(connection: &layout::Connection, outcomes: Option<&Outcomes>) -> Progress {
    let mut taken = [0; 128];
    for (bytes, word) in taken.chunks_exact_mut(8).zip(connection.taken) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    Progress {
        expected: connection.expected,
        taken: Key(taken),
        due: connection.due,
        refused: (connection.is_refusing != 0).then_some(Refused {
            message: connection.refused_message,
            sequence: connection.refused_sequence,
        }),
        outcomes: outcomes.map(told).unwrap_or_default(),
    }
}

/// As they are to stand in the tables; of slots and with a status that there are.
pub(super) fn entered(told: &[Outcome]) -> Outcomes {
    let mut outcomes = Outcomes::zeroed();
    for outcome in told {
        let Some(place) = outcomes.0.get_mut(usize::from(outcome.slot)) else {
            continue;
        };
        *place = layout::Outcome {
            operation: outcome.number,
            owner: match outcome.of_mcp {
                true => layout::Outcome::MCP,
                false => layout::Outcome::PROGRAM,
            },
            is_done: outcome.done.into(),
            status: outcome.status as u8,
            zero: 0,
            value: outcome.value,
            start: outcome.begin,
        };
    }
    outcomes
}

fn told(outcomes: &Outcomes) -> Vec<Outcome> {
    let slots = (0..).zip(outcomes.0);
    slots
        .filter(|(_, outcome)| outcome.owner != 0)
        .map(|(slot, outcome)| Outcome {
            slot,
            number: outcome.operation,
            of_mcp: outcome.owner == layout::Outcome::MCP,
            done: outcome.is_done != 0,
            status: outcome.status.into(),
            value: outcome.value,
            begin: outcome.start,
        })
        .collect()
}

#[test]
fn the_state_is_told_whole() {
    let key = bcl_wire::CheckKey::from_bytes(&[7; 16]);
    let mut connection = layout::Connection::new(0, &key, &key, 5);
    connection.due = 3;
    connection.refused_message = 8;
    connection.refused_sequence = 9;
    connection.taken[1] = 1 << 9;
    let state = progress(&connection, None);
    assert_eq!((state.expected, state.due, state.refused), (5, 3, None));
    // Sequence 64 + 9: bit 1 of byte 9.
    assert_eq!(state.taken.0[9], 2);
    connection.is_refusing = 1;
    let mut outcomes = Outcomes::zeroed();
    outcomes.0[7] = layout::Outcome {
        operation: 4,
        owner: layout::Outcome::PROGRAM,
        is_done: 1,
        status: 2,
        value: 6,
        start: 16,
        ..layout::Outcome::zeroed()
    };
    let state = progress(&connection, Some(&outcomes));
    assert_eq!(state.refused.map(|refused| refused.sequence), Some(9));
    let [told] = state.outcomes.as_slice() else {
        panic!("{state:?}");
    };
    assert_eq!(
        (told.slot, told.number, told.of_mcp, told.done),
        (7, 4, false, true)
    );
    assert_eq!((told.status, told.value, told.begin), (2, 6, 16));
    assert_eq!(entered(&state.outcomes), outcomes);
}
