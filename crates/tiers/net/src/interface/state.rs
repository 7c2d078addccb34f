//! How far a connection has come, as the protocol knows it and as the agent is told and tells it ([AGENT-5.1], [AGENT-5.2]).

use bcl_agent_client::message::{self, Progress};
use bcl_proto::{ConnectionState, Outcome};
use bcl_wire::{RmaStatus, SLOTS};

/// `None` if it is not of a kind that there can be.
pub fn state(told: &Progress) -> Option<ConnectionState> {
    let mut taken = [0; 16];
    for (word, bytes) in taken.iter_mut().zip(told.taken.0.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    let mut outcomes = vec![None; SLOTS.into()];
    for outcome in &told.outcomes {
        *outcomes.get_mut(usize::from(outcome.slot))? = Some(outcome_of(outcome)?);
    }
    Some(ConnectionState {
        expected: told.expected,
        taken,
        due: told.due,
        refused: told
            .refused
            .map(|refused| (refused.message, refused.sequence)),
        outcomes,
    })
}

/// Of operations, by slot, to be told to the agent.
pub fn outcomes(by_slot: &[Option<Outcome>]) -> Vec<message::Outcome> {
    let slots = (0..).zip(by_slot);
    let told = slots.filter_map(|(slot, outcome)| {
        let outcome = outcome.as_ref()?;
        Some(message::Outcome {
            slot,
            number: outcome.number,
            of_mcp: outcome.is_ours,
            done: outcome.is_done,
            status: outcome.status.number().into(),
            value: outcome.value,
            begin: outcome.start,
        })
    });
    told.collect()
}

fn outcome_of(told: &message::Outcome) -> Option<Outcome> {
    Some(Outcome {
        number: told.number,
        is_ours: told.of_mcp,
        is_done: told.done,
        status: RmaStatus::from_number(told.status.try_into().ok()?)?,
        value: told.value,
        start: told.begin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcl_agent_client::Key;
    use bcl_agent_client::message::Refused;

    fn progress() -> Progress {
        let mut taken = [0; 128];
        taken[9] = 2;
        Progress {
            expected: 5,
            taken: Key(taken),
            due: 3,
            refused: Some(Refused {
                message: 8,
                sequence: 9,
            }),
            outcomes: vec![message::Outcome {
                slot: 7,
                number: 4,
                of_mcp: true,
                done: true,
                status: 2,
                value: 6,
                begin: 16,
            }],
        }
    }

    #[test]
    fn all_that_is_told_is_taken() {
        let state = state(&progress()).expect("it is one");
        // Sequence 64 + 9.
        assert_eq!(state.taken[1], 1 << 9);
        assert_eq!((state.expected, state.due), (5, 3));
        assert_eq!(state.refused, Some((8, 9)));
        let outcome = state.outcomes[7].expect("there is one");
        assert!(outcome.is_ours && outcome.is_done);
        assert_eq!((outcome.number, outcome.value, outcome.start), (4, 6, 16));
        assert_eq!(outcome.status.number(), 2);
        assert_eq!(state.outcomes.iter().flatten().count(), 1);
        assert_eq!(outcomes(&state.outcomes), progress().outcomes);
    }

    #[test]
    fn what_cannot_be_is_not_taken() {
        let mut wrong = progress();
        wrong.outcomes[0].slot = 64;
        assert_eq!(state(&wrong), None);
        let mut wrong = progress();
        wrong.outcomes[0].status = 77;
        assert_eq!(state(&wrong), None);
    }
}
