//! The stage of a peer, as its receiver sees it ([SHM-4.15]).

use bcl_os::mapping::Mapping;
use bcl_rings::Corrupt;

/// The peer's stage, if it has shown one.
#[derive(Debug, Default)]
pub enum StageSeen {
    #[default]
    None,
    /// It was asked for.
    Asked(u64),
    Mapped(u64, Mapping),
    /// It could not be had, and is not asked for again.
    Refused(u64),
}

impl StageSeen {
    /// The peer would use the stage of this number, or none if 0. Whether to ask for it.
    pub fn on_shown(&mut self, number: u64) -> bool {
        let asks = match *self {
            _ if number == 0 => false,
            Self::None => true,
            Self::Asked(_) => false,
            Self::Mapped(known, _) | Self::Refused(known) => known != number,
        };
        if asks {
            *self = Self::Asked(number);
        }
        asks
    }

    /// What was asked for, or why not, has come; gives back what belongs to somebody else.
    pub fn on_region(&mut self, number: u64, mapping: Option<Mapping>) -> Option<Option<Mapping>> {
        match self {
            Self::Asked(asked) if *asked == number => {
                *self = match mapping {
                    Some(mapping) => Self::Mapped(number, mapping),
                    None => Self::Refused(number),
                };
                None
            }
            _ => Some(mapping),
        }
    }

    /// Which one is mapped; 0 for none.
    pub fn number(&self) -> u64 {
        match self {
            Self::Mapped(number, _) => *number,
            _ => 0,
        }
    }

    /// Where `len` bytes lie that the peer has put there.
    pub fn piece(&self, number: u64, offset: u64, len: usize) -> Result<*const u8, Corrupt> {
        let Self::Mapped(known, mapping) = self else {
            return Err(Corrupt("a piece on a stage that is not mapped"));
        };
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let is_within = start
            .checked_add(len)
            .is_some_and(|end| end <= mapping.len_bytes());
        if number != *known || !is_within {
            return Err(Corrupt("place of a piece on the stage"));
        }
        Ok(mapping.start().as_ptr().wrapping_add(start))
    }
}
