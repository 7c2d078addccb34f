//! What processes are told, and whether the oracle believes it.

use crate::World;
use crate::oracle::{Outcome, Seat, Violation};
use crate::party::{Failure, News, Party};

use super::seat::{Arriving, What};
use super::turns::{Deed, Turn};

/// One waiting message in so many is given too small a buffer.
const TOO_SMALL_ONE_IN: u64 = 20;

impl<P: Party> World<P> {
    pub(super) fn hear(&mut self, seat: Seat, news: News) -> Result<(), Violation> {
        self.say(|_| format!("seat {seat} is told: {}", news.short()));
        self.stir(seat);
        match news {
            News::Message {
                from,
                message,
                bytes,
            } => self.message(seat, from, message, &bytes),
            News::Arrived {
                from,
                channel,
                message,
                len_bytes,
                waits,
            } => {
                self.meets(seat, from)?;
                self.arrived(seat, from, channel, message, len_bytes as usize, waits);
                Ok(())
            }
            News::Received { message, result } => self.received(seat, message, result),
            News::Withdrawn { message } => {
                let arriving = self.take_arriving(seat, message)?;
                self.may_fail(seat, arriving.from, "a message was withdrawn")
            }
            News::Ended { op, result } => self.ended(seat, op, result),
            News::PeerUp(peer) => self.meets(seat, peer),
            News::PeerGone(peer, cause) => {
                let life = self.seats[seat].life;
                self.ledger.excuse_all(seat, life, Some(peer));
                self.may_fail(seat, peer, &cause)
            }
            News::Own(_) => Ok(()),
            News::Failed(peer, what) => self.may_fail(seat, peer, &what),
            News::Wrong(what) => Err(format!("seat {seat}: {what}")),
        }
    }

    fn message(
        &mut self,
        seat: Seat,
        from: Seat,
        message: u64,
        bytes: &[u8],
    ) -> Result<(), Violation> {
        self.meets(seat, from)?;
        let meeting = self.ledger.meet(from, seat, 0);
        self.ledger.deliver(from, seat, 0, meeting, bytes)?;
        self.delivered_bytes[from] += bytes.len() as u64;
        let hold_ns = self.plan.traffic.hold_ns;
        self.after_at_most(seat, hold_ns, Deed::Release { message });
        Ok(())
    }

    fn arrived(
        &mut self,
        seat: Seat,
        from: Seat,
        channel: u16,
        message: u64,
        len_bytes: usize,
        waits: bool,
    ) {
        let meeting = self.ledger.meet(from, seat, channel);
        let state = &mut self.seats[seat];
        let too_long = waits && len_bytes > 0 && state.random.one_in(TOO_SMALL_ONE_IN);
        state.arriving.insert(
            message,
            Arriving {
                from,
                channel,
                meeting,
                was_posted: !waits,
                too_long,
            },
        );
        if waits {
            let capacity_bytes = len_bytes - usize::from(too_long);
            let deed = Deed::Accept {
                message,
                capacity_bytes,
            };
            self.after_at_most(seat, self.plan.traffic.late_post_ns, deed);
        }
    }

    fn received(
        &mut self,
        seat: Seat,
        message: u64,
        result: Result<Vec<u8>, Failure>,
    ) -> Result<(), Violation> {
        let Arriving {
            from,
            channel,
            meeting,
            was_posted,
            too_long,
        } = self.take_arriving(seat, message)?;
        if was_posted {
            let capacity_bytes = self.plan.traffic.longest_bytes;
            if let Some(party) = &mut self.seats[seat].party {
                party.post(self.now_ns, channel, capacity_bytes);
            }
        }
        match result {
            Ok(_) if too_long => Err(format!(
                "message {message} of seat {seat} fitted a buffer that is too small"
            )),
            Ok(bytes) => {
                self.delivered_bytes[from] += bytes.len() as u64;
                self.ledger.deliver(from, seat, channel, meeting, &bytes)
            }
            Err(Failure::Truncated) if too_long => Ok(()),
            Err(failure) => self.may_fail(seat, from, &format!("a message failed: {failure:?}")),
        }
    }

    fn ended(
        &mut self,
        seat: Seat,
        op: u64,
        result: Result<(u64, Vec<u8>), Failure>,
    ) -> Result<(), Violation> {
        let outcome = match result {
            Ok(_) => Outcome::Done,
            Err(_) => Outcome::Failed,
        };
        let state = &mut self.seats[seat];
        let pending = state
            .ends
            .end(op, outcome)
            .map_err(|text| format!("seat {seat}: {text}"))?;
        state.swapping.retain(|_, swapping| *swapping != op);
        if std::mem::take(&mut state.waits_for_end) {
            let turn = Turn::Own(seat, state.life, Deed::Program);
            self.schedule.add(self.now_ns, turn);
        }
        match pending.what {
            What::Message { key, number } if self.ledger.is_canceled(key, number) => {
                return match result {
                    Err(Failure::Canceled) => Ok(()),
                    other => Err(format!(
                        "seat {seat} had number {number} of {key:?} back, which then ended: {other:?}"
                    )),
                };
            }
            What::Message { key, number } if outcome == Outcome::Done => {
                // The end of a system message says only that it was copied.
                let must_be_there = key.channel > 0;
                if must_be_there && !self.ledger.has_arrived(key, number) {
                    // The receiver's program may not have looked yet.
                    self.listen(key.to)?;
                }
                if must_be_there && !self.ledger.has_arrived(key, number) {
                    return Err(format!(
                        "seat {seat} was told that number {number} of {key:?} has arrived, but it has not"
                    ));
                }
            }
            What::Message { key, number } => self.ledger.excuse(key, number),
            What::Window(expected) => {
                let (value, bytes) = result.clone().unwrap_or_default();
                self.windows.end(expected, outcome, value, &bytes)?;
            }
        }
        match result {
            Ok(_) => self.meets(seat, pending.to),
            Err(Failure::Truncated) if matches!(pending.what, What::Message { .. }) => Ok(()),
            Err(failure) => self.may_fail(
                seat,
                pending.to,
                &format!("operation {op} failed: {failure:?}"),
            ),
        }
    }

    /// Something failed between two seats: had it any reason to?
    fn may_fail(&self, seat: Seat, peer: Seat, what: &str) -> Result<(), Violation> {
        if self.plan.may_lose_peers() || self.job(seat) != self.job(peer) {
            return Ok(());
        }
        Err(format!(
            "without any reason, at seat {seat} about seat {peer}: {what}"
        ))
    }

    /// Something came about between two seats: two jobs never meet.
    fn meets(&self, seat: Seat, peer: Seat) -> Result<(), Violation> {
        if self.job(seat) == self.job(peer) {
            return Ok(());
        }
        Err(format!("seats {seat} and {peer} have different keys"))
    }

    fn take_arriving(&mut self, seat: Seat, message: u64) -> Result<Arriving, Violation> {
        let arriving = self.seats[seat].arriving.remove(&message);
        arriving.ok_or_else(|| format!("seat {seat}: message {message} ended twice or never came"))
    }

    fn after_at_most(&mut self, seat: Seat, most_ns: u64, deed: Deed) {
        let state = &mut self.seats[seat];
        let delay_ns = state.random.between(0, most_ns);
        let turn = Turn::Own(seat, state.life, deed);
        self.schedule.add(self.now_ns + delay_ns, turn);
    }
}
