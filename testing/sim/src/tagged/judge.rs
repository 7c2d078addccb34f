//! What a program is told, and whether that can be: each operation ends once, and as lists say.

use std::collections::BTreeMap;

use bcl_adi::{Completion, Ended, OpError};

use super::ledger::{Common, Epoch, Flying};
use super::lists::{Posted, Sent};
use super::one_sided::Reaching;
use crate::oracle::{Life, Seat, Violation};
use crate::party::News;
use crate::port::{address, seat};

/// Nothing that was sent looks like this for long.
pub const USED: u8 = 0xee;

/// Of DATA: its sender was not asked for it ([ADI-4.6]).
const UNASKED: u8 = 0x20;

/// A program's books.
pub struct Judge {
    pub seat: Seat,
    pub life: Life,
    pub common: Common,
    pub sends: BTreeMap<u64, Sending>,
    pub receives: BTreeMap<u64, Receiving>,
    pub reaching: BTreeMap<u64, Reaching>,
    /// Memory that is the program's again. Nobody touches it any more.
    pub(super) used: Vec<Vec<u8>>,
    /// Of how many ends of each peer it has been told, and of which since it was last looked what is left of them.
    ends: BTreeMap<Seat, u32>,
    ended: Vec<Seat>,
}

/// A send that has not ended.
pub struct Sending {
    pub to: Seat,
    pub flying_number: u64,
    pub tag: u64,
    pub space: u8,
    pub epoch: Epoch,
    pub memory: Vec<u8>,
    pub is_quiet: bool,
    pub to_be_delivered: bool,
}

/// A receive that has not ended.
pub struct Receiving {
    pub space: u8,
    pub memory: Vec<u8>,
    pub is_canceled: bool,
}

impl Judge {
    pub fn new(seat: Seat, life: Life, common: Common) -> Self {
        Self {
            seat,
            life,
            common,
            sends: BTreeMap::new(),
            receives: BTreeMap::new(),
            reaching: BTreeMap::new(),
            used: Vec::new(),
            ends: BTreeMap::new(),
            ended: Vec::new(),
        }
    }

    /// How it calls its connection with a peer.
    pub fn epoch(&self, peer: Seat) -> Epoch {
        (self.life, self.ends.get(&peer).copied().unwrap_or(0))
    }

    /// A message was taken to be sent.
    pub fn sent(&mut self, context: u64, sending: Sending, sent: Sent) {
        let mut ledger = self.common.borrow_mut();
        let to_life = ledger.life(sending.to);
        ledger.fly(
            sending.to,
            Flying {
                number: sending.flying_number,
                space: sending.space,
                sent,
                epoch: sending.epoch,
                to_life,
            },
        );
        drop(ledger);
        self.sends.insert(context, sending);
    }

    /// A receive is posted.
    pub fn post(&mut self, space: u8, posted: Posted, memory: Vec<u8>) {
        self.expect(space, posted.context, memory);
        let mut ledger = self.common.borrow_mut();
        ledger.lists(self.seat, space).post(posted);
    }

    /// Something is going to be received under this context.
    pub fn expect(&mut self, space: u8, context: u64, memory: Vec<u8>) {
        let receiving = Receiving {
            space,
            memory,
            is_canceled: false,
        };
        self.receives.insert(context, receiving);
    }

    /// A message has come on the system channel; those about messages have no place in the order. What is pushed does not lie with
    /// its sender any more.
    pub fn arrived(&mut self, from: Seat, tag: u64, bytes: &[u8]) -> Result<(), Violation> {
        let word = |bytes: &[u8]| bytes.first_chunk().copied().map(u64::from_le_bytes);
        let last = bytes.last_chunk().copied().map(u64::from_le_bytes);
        let mut ledger = self.common.borrow_mut();
        let (kind, flags) = match *bytes {
            [_, kind @ (1 | 2), flags, ..] => (kind, flags),
            [_, 4, UNASKED, _, _, _, _, _, ref rest @ ..] => {
                ledger.pushed(self.seat, from, word(rest));
                return Ok(());
            }
            _ => return Ok(()),
        };
        let data = (flags & 0x10 != 0).then(|| word(&bytes[8..]));
        let seen = Sent {
            from,
            tag,
            data: data.flatten(),
            announced_as: last.filter(|_| kind == 2),
            life: self.epoch(from).1,
            ..Sent::default()
        };
        ledger.arrive(self.seat, flags & 0xf, seen)
    }

    /// A peer has come to an end, of which the books are told now.
    pub fn lose(&mut self, peer: Seat) {
        *self.ends.entry(peer).or_default() += 1;
        self.ended.push(peer);
        let mut ledger = self.common.borrow_mut();
        for space in 0..bcl_adi::SPACES as u8 {
            ledger.lists(self.seat, space).lose(peer);
        }
    }

    /// The books have been told of all there is: nothing is left that had to do with a peer before its end.
    pub fn check_ends(&mut self) -> Result<(), Violation> {
        for peer in std::mem::take(&mut self.ended) {
            let epoch = self.epoch(peer);
            self.check_reaching(peer, epoch)?;
            let mut sends = self.sends.iter().filter(|(_, sending)| !sending.is_quiet);
            if let Some((context, _)) =
                sends.find(|(_, sending)| sending.to == peer && sending.epoch < epoch)
            {
                return Err(format!(
                    "send {context} is left though seat {peer} was gone"
                ));
            }
            let mut ledger = self.common.borrow_mut();
            for (context, receiving) in &self.receives {
                let lists = ledger.lists(self.seat, receiving.space);
                let is_posted = lists.posted.iter().any(|posted| posted.context == *context);
                let mut due = lists.due.get(context).into_iter().flatten();
                let is_due = due.clone().next().is_some();
                let is_old = |sent: &Sent| sent.from == peer && sent.life < epoch.1;
                if due.any(is_old) || !is_posted && !is_due {
                    return Err(format!(
                        "receive {context} is left though seat {peer} was gone"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Something has ended.
    pub fn completed(&mut self, completion: &Completion) -> Result<News, Violation> {
        let checked = match completion.kind {
            Ended::Send => self.send_ended(completion),
            Ended::Receive => self.receive_ended(completion),
            Ended::Lost => Ok(()),
            Ended::Put | Ended::Get | Ended::Atomic | Ended::Written => {
                return self.reached(completion);
            }
        };
        checked.map_err(|what| format!("{what}: {completion:?}"))?;
        let what = format!("{completion:?}");
        match completion.result {
            Ok(()) | Err(OpError::Truncated { .. } | OpError::Canceled) => Ok(News::Own(what)),
            Err(_) => Ok(News::Failed(seat(completion.peer), what)),
        }
    }

    fn send_ended(&mut self, completion: &Completion) -> Result<(), Violation> {
        let sending = self.sends.remove(&completion.context);
        let Some(mut sending) = sending else {
            return Err("a send has ended twice".into());
        };
        let is_so = (completion.peer, completion.tag, completion.space)
            == (address(sending.to), sending.tag, sending.space)
            && completion.len_bytes == sending.memory.len() as u64
            && completion.released
            && !(completion.result.is_ok() && sending.is_quiet);
        let ledger = self.common.borrow();
        let came_too_soon = sending.to_be_delivered
            && completion.result.is_ok()
            && ledger.waits(self.seat, sending.to, sending.flying_number);
        drop(ledger);
        sending.memory.fill(USED);
        self.used.push(sending.memory);
        match completion.result {
            Ok(()) if came_too_soon => Err("it was not delivered".into()),
            Err(OpError::Truncated { .. } | OpError::Canceled | OpError::Protocol) => {
                Err("a send ends otherwise".into())
            }
            _ if is_so => Ok(()),
            _ => Err("that is not what was sent".into()),
        }
    }

    fn receive_ended(&mut self, completion: &Completion) -> Result<(), Violation> {
        let &Completion {
            context, result, ..
        } = completion;
        let Some(receiving) = self.receives.get(&context) else {
            return Err("a receive has ended twice".into());
        };
        let mut ledger = self.common.borrow_mut();
        let lists = ledger.lists(self.seat, receiving.space);
        let is_met = completion.len_bytes > 0 || completion.data.is_some();
        let due = lists.due.entry(context).or_default();
        let place = due
            .iter()
            .position(|sent| is_about(completion, sent, &receiving.memory));
        let sent = place.and_then(|place| due.remove(place));
        let is_over = due.is_empty() && lists.posted.iter().all(|posted| posted.context != context);
        let is_right = match (result, sent) {
            (Ok(()), Some(sent)) => sent.bytes.len() <= receiving.memory.len() - sent.offset,
            (Err(OpError::Truncated { .. }), Some(sent)) => {
                sent.bytes.len() > receiving.memory.len() - sent.offset
            }
            (Err(OpError::Canceled), None) => receiving.is_canceled && !is_met,
            (
                Err(OpError::Canceled | OpError::Truncated { .. } | OpError::Protocol) | Ok(()),
                _,
            ) => false,
            (Err(_), sent) => sent.is_some() == is_met,
        };
        let tally = &mut ledger.tally;
        *(match result {
            Ok(()) => &mut tally.received,
            Err(OpError::Truncated { .. }) => &mut tally.truncated,
            Err(OpError::Canceled) => &mut tally.canceled,
            Err(_) => &mut tally.failed,
        }) += 1;
        drop(ledger);
        if completion.space != receiving.space || !is_right {
            return Err("that is not what it was to get".into());
        }
        if completion.released {
            if !is_over {
                return Err("memory was released too early".into());
            }
            if let Some(Receiving { mut memory, .. }) = self.receives.remove(&context) {
                memory.fill(USED);
                self.used.push(memory);
            }
        }
        Ok(())
    }

    /// Memory that was released is as it was then.
    pub fn check_used(&self) -> Result<(), Violation> {
        let is_used = |memory: &Vec<u8>| memory.iter().all(|byte| *byte == USED);
        match self.used.iter().all(is_used) {
            true => Ok(()),
            false => Err("memory was written after it had been released".into()),
        }
    }
}

/// Of memory in several pieces nothing is told but that.
fn is_start(start: usize, memory: &[u8], offset: usize) -> bool {
    start == 0 && offset == 0 || start == memory.as_ptr() as usize + offset
}

/// Whether this is what is told of a message.
fn is_about(completion: &Completion, sent: &Sent, memory: &[u8]) -> bool {
    let told = (
        completion.peer,
        completion.tag,
        completion.data,
        completion.len_bytes,
    );
    let is_it =
        told == (
            address(sent.from),
            sent.tag,
            sent.data,
            sent.bytes.len() as u64,
        ) && is_start(completion.start, memory, sent.offset);
    is_it && (completion.result.is_err() || memory[sent.offset..].starts_with(&sent.bytes))
}
