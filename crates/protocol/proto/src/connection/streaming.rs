//! Whether the peer's packets come in a stream ([MCP-1.6]).
//!
//! An interface program saves a lone packet the way through the kernel and its receiver a system call. It takes packets one
//! by one, though, and on virtual interfaces the sender's processor does its work; what comes in a stream the kernel hands
//! over many at a time. In the driver the program keeps them: the kernel gets them one by one as well, after it.

use bcl_types::{Span, Time};

/// Packets that are judged together.
const WINDOW: u16 = 256;
/// Where more packets come than one in so long they follow closely.
const SPACING: Span = Span::from_us(10);

/// So many of a window follow others closely where a stream begins, and so many where it ends: behind the kernel's driver two
/// packets in a row take longer than by the socket, so that messages of two packets are a stream.
const BEGINS: u16 = 103;
const ENDS: u16 = 52;

/// How the peer's sequenced packets and answers come.
#[derive(Debug, Default)]
pub struct Streaming {
    last_at: Time,
    /// What has passed of the time that one packet is given.
    slack: Span,
    /// We have sent something since the latest packet: the next may be the answer to it.
    may_be_answered: bool,
    /// Of this window: how many, and how many of them followed others closely.
    packets: u16,
    close: u16,
    is_stream: bool,
}

impl Streaming {
    /// One has come; `away` as in [`Common`](crate::common::Common).
    #[inline]
    pub fn on_packet(&mut self, now: Time, away: Span) {
        let passed = self.slack + now.since(self.last_at);
        self.slack = passed.min(away.max(SPACING));
        self.last_at = now;
        let is_close = self.slack < SPACING && !self.may_be_answered;
        if is_close {
            self.close += 1;
        } else {
            self.slack = self.slack.less(SPACING);
        }
        self.may_be_answered = false;
        self.packets += 1;
        if self.packets == WINDOW {
            let bound = if self.is_stream { ENDS } else { BEGINS };
            self.is_stream = self.close >= bound;
            (self.packets, self.close) = (0, 0);
        }
    }

    /// We have sent one.
    #[inline]
    pub fn on_sent(&mut self) {
        self.may_be_answered = true;
    }

    /// Several things were asked for: what comes is no answer to the latest, however short the time since.
    #[inline]
    pub fn on_many_asked(&mut self) {
        self.may_be_answered = false;
    }

    /// Whether they did so lately.
    #[inline]
    pub fn is_stream(&self) -> bool {
        self.is_stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of so many packets 1 us apart, each the answer to one of ours if they are, else with a pause between.
    fn judge(packets: u64, pause_us: u64, answer: bool) -> bool {
        let (mut streaming, mut now) = (Streaming::default(), Time(0));
        for _ in 0..WINDOW {
            if answer {
                streaming.on_sent();
            }
            for _ in 0..packets {
                streaming.on_packet(now, Span::ZERO);
                now += Span::from_us(1);
            }
            now += Span::from_us(pause_us);
        }
        streaming.is_stream()
    }

    #[test]
    fn what_is_answered_or_comes_seldom_is_no_stream() {
        assert!(!judge(1, 5, true) && !judge(1, 10, false));
        assert!(judge(1, 1, false) && judge(64, 100, true));
    }

    #[test]
    fn messages_of_two_packets_are_a_stream() {
        assert!(judge(2, 10, true) && judge(6, 10, true));
    }

    /// What is found together after a while may have come singly meanwhile.
    #[test]
    fn who_was_away_cannot_tell_what_has_come_slowly() {
        let stream_of = |packets: u64| {
            let (mut streaming, mut now) = (Streaming::default(), Time(0));
            for _ in 0..u64::from(WINDOW) {
                now += Span::from_ms(1);
                for _ in 0..packets {
                    streaming.on_packet(now, Span::from_ms(1));
                }
            }
            streaming.is_stream()
        };
        assert!(!stream_of(90) && stream_of(1_000));
    }

    #[test]
    fn a_stream_lasts_until_clearly_fewer_packets_follow_others() {
        let mut streaming = Streaming::default();
        let mut now = Time(0);
        let mut window = |close: u16| {
            for packet in 0..WINDOW {
                let gap = if packet < close { 1 } else { 20 };
                now += Span::from_us(gap);
                streaming.on_packet(now, Span::ZERO);
            }
            streaming.is_stream()
        };
        assert!(!window(90) && window(140) && window(90) && !window(20));
    }
}
