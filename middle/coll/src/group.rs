//! Some of a team's processes, in an order, and their calls.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::error::{Broken, Error};
use crate::header::{Header, Kind};
use crate::hosts::Hosts;
use crate::team::Team;

/// Greatest context of a group.
pub const CONTEXT_MAX: u32 = (1 << 24) - 1;

/// Processes that call the same in the same order, each for itself. Their *rank* is their place in the group.
///
/// A call returns when this process has done its part, and may use the memory again that it has given. One thread at a time may be in a call of
/// a group; different groups may be in calls at the same time.
#[derive(Debug)]
pub struct Group {
    team: Team,
    members: Vec<u16>,
    /// All but this process.
    others: Vec<u16>,
    rank: usize,
    context: u32,
    state: Mutex<State>,
    /// Known once all have come.
    hosts: OnceLock<Hosts>,
}

#[derive(Debug, Default)]
struct State {
    /// How many calls there were.
    calls: u32,
    /// Nothing more can be done: who has found so, and why.
    broken: Option<(u16, Broken)>,
}

/// One call of a group.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub group: &'a Group,
    header: Header,
}

impl Group {
    pub(crate) fn new(team: Team, members: &[u16], context: u32) -> Result<Self, Error> {
        let own = team.member();
        let refused = |text: String| Err(Error::InvalidArgument(text));
        if context > CONTEXT_MAX {
            return refused(format!(
                "context {context}: at most {CONTEXT_MAX} is possible"
            ));
        }
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return refused(format!("member {} is in the group twice", pair[0]));
        }
        if let Some(beyond) = sorted.last().filter(|last| **last >= team.members()) {
            let all = team.members();
            return refused(format!(
                "member {beyond} of a team of {all}: they have the numbers from 0"
            ));
        }
        let Some(rank) = members.iter().position(|member| *member == own) else {
            return refused(format!("this process, member {own}, is not in the group"));
        };
        let others: Vec<u16> = members
            .iter()
            .copied()
            .filter(|member| *member != own)
            .collect();
        Ok(Self {
            team,
            members: members.to_vec(),
            others,
            rank,
            context,
            state: Mutex::default(),
            hosts: OnceLock::new(),
        })
    }

    /// This process's place in the group.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many processes it has.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Which of them share one. Waits until all have come, so that all find the same.
    pub(crate) fn hosts(&self) -> Result<&Hosts, Error> {
        if let Some(hosts) = self.hosts.get() {
            return Ok(hosts);
        }
        self.team.wait_until_known(&self.members, self.context)?;
        let hosts = self.members.iter();
        let hosts = hosts.map(|member| Ok(self.team.board().host_of(*member)?));
        let hosts: Vec<u64> = hosts.collect::<Result<_, Error>>()?;
        Ok(self.hosts.get_or_init(|| Hosts::new(&hosts)))
    }

    pub(crate) fn check_root(&self, root: usize) -> Result<(), Error> {
        match root < self.size() {
            true => Ok(()),
            false => Err(Error::InvalidArgument(format!(
                "root {root} of a group of {}: ranks are from 0",
                self.size()
            ))),
        }
    }

    /// A call that all of the group do. If it fails here, the others are told, who may wait for this process ([COLL-1.4]).
    pub(crate) fn call<R>(
        &self,
        kind: Kind,
        what: impl FnOnce(&Call<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let done = what(&self.begin(kind)?);
        if let Err(error) = &done {
            self.breaks(error);
        }
        done
    }

    fn begin(&self, kind: Kind) -> Result<Call<'_>, Error> {
        let mut state = self.state();
        if let Some((by, why)) = state.broken {
            return Err(Error::Broken { by, why });
        }
        let call = state.calls;
        state.calls = call.wrapping_add(1);
        let header = Header {
            context: self.context,
            call,
            step: 0,
            kind: kind as u8,
        };
        Ok(Call {
            group: self,
            header,
        })
    }

    fn breaks(&self, error: &Error) {
        let why = error.breaks();
        let by = match error {
            Error::Broken { by, .. } => *by,
            _ => self.team.member(),
        };
        self.state().broken = Some((by, why));
        if by == self.team.member() {
            self.team
                .tell(&self.others, Header::end_of(self.context), &why.to_bytes());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.team.forget(self.context);
    }
}

impl Call<'_> {
    fn header_of(&self, step: u8) -> Header {
        Header {
            step,
            ..self.header
        }
    }

    /// To one.
    pub fn send(&self, to: usize, step: u8, payload: &[u8]) -> Result<(), Error> {
        let to = [self.group.members[to]];
        self.group.team.post(&to, self.header_of(step), payload)
    }

    /// To all others.
    pub fn send_to_others(&self, step: u8, payload: &[u8]) -> Result<(), Error> {
        let others = &self.group.others;
        self.group.team.post(others, self.header_of(step), payload)
    }

    /// Of one; it has to be of this length.
    pub fn receive(&self, from: usize, step: u8, into: &mut [u8]) -> Result<(), Error> {
        let len_bytes = into.len();
        self.receive_with(from, step, len_bytes, |payload| {
            into.copy_from_slice(payload)
        })
    }

    /// The same, for something else than to copy it.
    pub fn receive_with(
        &self,
        from: usize,
        step: u8,
        len_bytes: usize,
        mut use_it: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let wanted = self.header_of(step);
        let member = self.group.members[from];
        let take = |header: Header, payload: &[u8]| {
            if header.kind != wanted.kind || payload.len() != len_bytes {
                return Err(Error::Mismatch {
                    member: from,
                    theirs: header.describe(payload.len()),
                    ours: wanted.describe(len_bytes),
                });
            }
            use_it(payload);
            Ok(())
        };
        self.group.team.expect(member, wanted, take)?
    }
}
