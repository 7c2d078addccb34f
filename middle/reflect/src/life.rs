//! Whether a member is there, and if not, why ([REFLECT-6.2]).

use bcl_types::Cause;

/// What is known of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Nobody has joined as it.
    Never,
    /// It is there.
    There,
    /// It was there, and has ended.
    Gone(Cause),
}

/// A member that has come or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct News {
    /// Which.
    pub member: u16,
    /// What it is now: there, or gone.
    pub life: Life,
}

const NEVER: u8 = 0;
const THERE: u8 = 1;
const LEFT: u8 = 2;
const EXITED: u8 = 3;
const KILLED: u8 = 4;
const VANISHED: u8 = 5;

/// A member's first word: its life, and how often it has been joined as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    pub joined: u32,
    pub life: Life,
}

impl State {
    pub fn to_word(self) -> u64 {
        let (kind, detail) = match self.life {
            Life::Never => (NEVER, 0),
            Life::There => (THERE, 0),
            Life::Gone(Cause::Closed) => (LEFT, 0),
            Life::Gone(Cause::Exited(status)) => (EXITED, status),
            Life::Gone(Cause::Killed(signal)) => (KILLED, signal),
            Life::Gone(_) => (VANISHED, 0),
        };
        let detail = detail as u32 & 0x00ff_ffff;
        u64::from(self.joined) << 32 | u64::from(detail) << 8 | u64::from(kind)
    }

    /// What a word says that anybody may have written: one that makes no sense is of one that has vanished.
    pub fn of_word(word: u64) -> Self {
        let detail = (word >> 8 & 0x00ff_ffff) as i32;
        let life = match word as u8 {
            NEVER => Life::Never,
            THERE => Life::There,
            LEFT => Life::Gone(Cause::Closed),
            EXITED => Life::Gone(Cause::Exited(detail)),
            KILLED => Life::Gone(Cause::Killed(detail)),
            _ => Life::Gone(Cause::Vanished),
        };
        let joined = (word >> 32) as u32;
        Self { joined, life }
    }

    /// The same member, ended.
    pub fn ended(self, cause: Cause) -> Self {
        let life = Life::Gone(cause);
        Self { life, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn states_are_words_and_words_states() {
        let causes = [
            Cause::Closed,
            Cause::Exited(255),
            Cause::Killed(9),
            Cause::Vanished,
        ];
        let gone = causes.map(Life::Gone);
        for life in [&[Life::Never, Life::There], gone.as_slice()].concat() {
            let state = State { joined: 7, life };
            assert_eq!(State::of_word(state.to_word()), state);
        }
        assert_eq!(State::of_word(0).life, Life::Never);
    }

    proptest! {
        #[test]
        fn any_word_is_some_state(word: u64) {
            let state = State::of_word(word);
            prop_assert_eq!(State::of_word(state.to_word()), state);
        }
    }
}
