//! Messages: how they leave, and how they come together again ([WIRE-6]).

pub mod inbox;
pub mod outgoing;
pub mod pushing;
pub mod queue;
pub mod refusal;
pub mod waiting;

/// Messages that are refused together when there is no room ([WIRE-9]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    System = 0,
    Normal = 1,
}

impl Class {
    pub fn of_channel(channel: u16) -> Self {
        if channel == 0 {
            Self::System
        } else {
            Self::Normal
        }
    }
}
