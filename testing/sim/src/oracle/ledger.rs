//! Messages: each reliable one once, in order, intact; each unreliable one at most once, and intact.
//!
//! A receiver's program cannot see which message it was given, only what it holds. So a message is recognized by
//! its contents among those that its sender has sent and nobody has got yet. The order is that of *meeting*: a
//! message meets its receiver when it is announced or, if that is all at once, when it is delivered.

use std::collections::BTreeMap;

use super::contents::{belong, fill, mix};
use super::{Life, Seat, Violation};

/// Messages that keep an order among themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamKey {
    /// Whose messages.
    pub from: Seat,
    /// For whom.
    pub to: Seat,
    /// The channel; 0 is the system channel.
    pub channel: u16,
    /// Whether they may be lost.
    pub reliable: bool,
    /// Which process of the sender; last, so that all processes of a sender stand together in the ledger.
    pub life: Life,
}

/// A place in the order in which receivers met messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Meeting {
    number: u64,
    /// How many messages of the same sender and channel the receiver had met before.
    rank: u64,
}

/// All messages of a world.
#[derive(Debug, Default)]
pub struct Ledger {
    streams: BTreeMap<StreamKey, Stream>,
    meetings: u64,
    met: BTreeMap<(Seat, Seat, u16), u64>,
    missing: u64,
}

#[derive(Debug, Default)]
struct Stream {
    sent: Vec<Sent>,
    /// Before this, all have been delivered.
    first_missing: usize,
}

#[derive(Debug)]
struct Sent {
    len_bytes: usize,
    met: Option<Meeting>,
    /// Its sender was told that it may not arrive.
    excused: bool,
    /// Its sender has taken it back: it must not arrive.
    canceled: bool,
}

impl Sent {
    fn is_missing(&self) -> bool {
        self.met.is_none() && !self.excused
    }

    /// Excuses it: by how much fewer are missing.
    fn excuse(&mut self) -> u64 {
        let was_missing = self.is_missing();
        self.excused = true;
        u64::from(was_missing)
    }
}

impl Ledger {
    /// A program sends the next message of `key`: its number in the stream and what it holds.
    pub fn send(&mut self, key: StreamKey, len_bytes: usize) -> (u64, Vec<u8>) {
        let stream = self.streams.entry(key).or_default();
        let number = stream.sent.len() as u64;
        self.missing += u64::from(key.reliable);
        stream.sent.push(Sent {
            len_bytes,
            met: None,
            excused: !key.reliable,
            canceled: false,
        });
        let mut bytes = vec![0; len_bytes];
        fill(key.seed(number), &mut bytes);
        (number, bytes)
    }

    /// The sender was told that this message has failed; it may have arrived all the same.
    pub fn excuse(&mut self, key: StreamKey, number: u64) {
        if let Some(stream) = self.streams.get_mut(&key) {
            let sent = stream.sent.get_mut(number as usize);
            self.missing -= sent.map_or(0, Sent::excuse);
        }
    }

    /// The sender's program has taken this message back: it must not arrive, nor may it have.
    pub fn cancel(&mut self, key: StreamKey, number: u64) -> Result<(), Violation> {
        let stream = self.streams.get_mut(&key);
        let Some(sent) = stream.and_then(|stream| stream.sent.get_mut(number as usize)) else {
            return Err(format!(
                "number {number} of {key:?} was canceled and never sent"
            ));
        };
        if let Some(met) = sent.met {
            return Err(format!(
                "number {number} of {key:?} was canceled and had arrived: {met:?}"
            ));
        }
        sent.canceled = true;
        self.missing -= sent.excuse();
        Ok(())
    }

    /// Whether its sender's program has taken it back.
    pub fn is_canceled(&self, key: StreamKey, number: u64) -> bool {
        let stream = self.streams.get(&key);
        let sent = stream.and_then(|stream| stream.sent.get(number as usize));
        sent.is_some_and(|sent| sent.canceled)
    }

    /// The sender's process was told that `to` is gone, or is gone itself: nothing sent so far need arrive.
    pub fn excuse_all(&mut self, from: Seat, life: Life, to: Option<Seat>) {
        let concerned = self.streams.iter_mut().filter(|(key, _)| {
            key.from == from && key.life == life && to.is_none_or(|to| key.to == to)
        });
        for sent in concerned.flat_map(|(_, stream)| &mut stream.sent) {
            self.missing -= sent.excuse();
        }
    }

    /// A receiver learns of a message.
    pub fn meet(&mut self, from: Seat, to: Seat, channel: u16) -> Meeting {
        let met = self.met.entry((from, to, channel)).or_default();
        *met += 1;
        self.meetings += 1;
        Meeting {
            number: self.meetings,
            rank: *met - 1,
        }
    }

    /// A receiver has got a message of `from` that it met as `meeting`. Whether it was sent reliably, receivers are
    /// not told.
    pub fn deliver(
        &mut self,
        from: Seat,
        to: Seat,
        channel: u16,
        meeting: Meeting,
        bytes: &[u8],
    ) -> Result<(), Violation> {
        let key = |reliable, life| StreamKey {
            from,
            life,
            to,
            channel,
            reliable,
        };
        let keys = key(false, 0)..=key(true, Life::MAX);
        // The latest process first: nearly always it is the one.
        let candidates = self.streams.range_mut(keys).rev();
        for (key, stream) in candidates {
            if let Some(index) = stream.find(*key, meeting, bytes) {
                self.missing -= u64::from(stream.sent[index].is_missing());
                return stream.mark_met(*key, index, meeting);
            }
        }
        Err(format!(
            "seat {to} got a message of {} bytes from seat {from} on channel {channel} that was never sent so: {}",
            bytes.len(),
            self.guess(to, bytes)
        ))
    }

    /// Whether the sender may be told that this message has arrived.
    pub fn has_arrived(&self, key: StreamKey, number: u64) -> bool {
        let sent = self.streams.get(&key).map(|stream| &stream.sent);
        sent.and_then(|sent| sent.get(number as usize))
            .is_some_and(|sent| sent.met.is_some())
    }

    /// When all is over: nothing is missing that was not excused, and every stream kept its order.
    pub fn check_end(&self) -> Result<(), Violation> {
        for (key, stream) in &self.streams {
            stream.check_end(*key)?;
        }
        Ok(())
    }

    /// How many messages have yet to arrive, or to be reported lost.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Which message has yet to arrive, in words.
    pub fn first_missing(&self) -> Option<String> {
        self.streams.iter().find_map(|(key, stream)| {
            let number = stream.sent.iter().position(Sent::is_missing)?;
            let len_bytes = stream.sent[number].len_bytes;
            Some(format!("number {number}, {len_bytes} B, of {key:?}"))
        })
    }

    /// How many messages were delivered.
    pub fn delivered(&self) -> u64 {
        let sent = self.streams.values().flat_map(|stream| &stream.sent);
        sent.filter(|sent| sent.met.is_some()).count() as u64
    }

    /// What a message looks like that fits none: a help for whoever reads the violation.
    fn guess(&self, to: Seat, bytes: &[u8]) -> String {
        let streams = self.streams.iter().filter(|(other, _)| other.to == to);
        for (other, stream) in streams {
            for (number, sent) in stream.sent.iter().enumerate() {
                let prefix = bytes.len().min(sent.len_bytes) / 8 * 8;
                if prefix >= 8 && belong(other.seed(number as u64), &bytes[..prefix]) {
                    return format!(
                        "it begins as number {number} ({} bytes, met {:?}) of {other:?}",
                        sent.len_bytes, sent.met
                    );
                }
            }
        }
        "nothing in it is known".to_owned()
    }
}

impl StreamKey {
    fn seed(&self, number: u64) -> u64 {
        let Self {
            from,
            life,
            to,
            channel,
            reliable,
        } = *self;
        mix(&[
            from as u64,
            u64::from(life),
            to as u64,
            u64::from(channel) << 1 | u64::from(reliable),
            number,
        ])
    }
}

impl Stream {
    /// Which message holds `bytes`. Short ones may hold the same: then it is the one whose turn it is, or one that is
    /// missing.
    fn find(&self, key: StreamKey, meeting: Meeting, bytes: &[u8]) -> Option<usize> {
        let fits = |index: &usize| {
            self.sent[*index].len_bytes == bytes.len() && belong(key.seed(*index as u64), bytes)
        };
        let missing = |index: &usize| self.sent[*index].met.is_none();
        let turn = meeting.rank as usize;
        // On the system channel messages are delivered when they are met, so that the first missing one is as good.
        if key.channel > 0 && turn < self.sent.len() && missing(&turn) && fits(&turn) {
            return Some(turn);
        }
        let mut open = self.first_missing..self.sent.len();
        open.find(|index| missing(index) && fits(index))
            .or_else(|| (0..self.sent.len()).find(|index| !missing(index) && fits(index)))
    }

    fn mark_met(
        &mut self,
        key: StreamKey,
        index: usize,
        meeting: Meeting,
    ) -> Result<(), Violation> {
        let sent = &mut self.sent[index];
        if let Some(before) = sent.met {
            return Err(format!(
                "number {index} of {key:?} was delivered twice: {before:?} and {meeting:?}"
            ));
        }
        if sent.canceled {
            return Err(format!(
                "number {index} of {key:?} was canceled and arrived: {meeting:?}"
            ));
        }
        sent.met = Some(meeting);
        while self
            .sent
            .get(self.first_missing)
            .is_some_and(|sent| sent.met.is_some())
        {
            self.first_missing += 1;
        }
        Ok(())
    }

    fn check_end(&self, key: StreamKey) -> Result<(), Violation> {
        let mut last = None;
        for (number, sent) in self.sent.iter().enumerate() {
            match sent.met {
                None if sent.excused => {}
                None => {
                    return Err(format!(
                        "number {number} ({} bytes) of {key:?} never arrived and nobody was told",
                        sent.len_bytes
                    ));
                }
                Some(met) if Some(met) < last && key.reliable => {
                    return Err(format!("number {number} of {key:?} was overtaken"));
                }
                Some(met) => last = Some(met),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: StreamKey = StreamKey {
        from: 0,
        life: 0,
        to: 1,
        channel: 0,
        reliable: true,
    };

    fn deliver(ledger: &mut Ledger, bytes: &[u8]) -> Result<(), Violation> {
        let meeting = ledger.meet(0, 1, 0);
        ledger.deliver(0, 1, 0, meeting, bytes)
    }

    #[test]
    fn a_good_run_is_good() {
        let mut ledger = Ledger::default();
        for len in [0, 8, 100, 0, 3] {
            let (_, bytes) = ledger.send(KEY, len);
            deliver(&mut ledger, &bytes).expect("it was sent so");
        }
        ledger.check_end().expect("all arrived");
        assert_eq!(ledger.missing(), 0);
        assert_eq!(ledger.delivered(), 5);
    }

    #[test]
    fn whatever_a_network_could_spoil_is_found() {
        let mut ledger = Ledger::default();
        let (_, first) = ledger.send(KEY, 100);
        let (_, second) = ledger.send(KEY, 50);
        assert!(ledger.check_end().is_err_and(|text| text.contains("never")));
        assert_eq!(ledger.missing(), 2);

        let mut wrong = first.clone();
        wrong[99] ^= 1;
        assert!(deliver(&mut ledger, &wrong).is_err_and(|text| text.contains("begins")));

        deliver(&mut ledger, &second).expect("it was sent so");
        deliver(&mut ledger, &first).expect("it was sent so");
        assert!(
            ledger
                .check_end()
                .is_err_and(|text| text.contains("overtaken"))
        );
        assert!(deliver(&mut ledger, &second).is_err_and(|text| text.contains("twice")));
    }

    #[test]
    fn what_was_reported_lost_may_be_missing_but_not_come_late() {
        let mut ledger = Ledger::default();
        let (_, first) = ledger.send(KEY, 100);
        ledger.excuse_all(0, 0, Some(1));
        let (_, second) = ledger.send(KEY, 100);
        deliver(&mut ledger, &second).expect("it was sent so");
        ledger
            .check_end()
            .expect("the first was reported, the second arrived");
        deliver(&mut ledger, &first).expect("it was sent so");
        assert!(
            ledger
                .check_end()
                .is_err_and(|text| text.contains("overtaken"))
        );
    }

    #[test]
    fn what_was_canceled_must_not_arrive() {
        let mut ledger = Ledger::default();
        let (number, first) = ledger.send(KEY, 100);
        let (arrived, second) = ledger.send(KEY, 100);
        ledger.cancel(KEY, number).expect("it was sent");
        assert_eq!(ledger.missing(), 1);
        deliver(&mut ledger, &second).expect("it was sent so");
        ledger.check_end().expect("the other one was canceled");
        assert!(
            deliver(&mut ledger, &first).is_err_and(|text| text.contains("canceled and arrived"))
        );
        assert!(
            ledger
                .cancel(KEY, arrived)
                .is_err_and(|text| text.contains("had arrived"))
        );
        assert!(ledger.is_canceled(KEY, number) && !ledger.is_canceled(KEY, arrived));
    }

    #[test]
    fn unreliable_messages_may_be_lost_but_not_doubled() {
        let key = StreamKey {
            reliable: false,
            ..KEY
        };
        let mut ledger = Ledger::default();
        let (_, bytes) = ledger.send(key, 30);
        ledger.send(key, 30);
        let meeting = ledger.meet(0, 1, 0);
        ledger
            .deliver(0, 1, 0, meeting, &bytes)
            .expect("it was sent so");
        ledger.check_end().expect("the other one may be lost");
        assert!(ledger.deliver(0, 1, 0, meeting, &bytes).is_err());
    }
}
